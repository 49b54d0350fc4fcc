import pdf from '../../tasks/pdf.ts';

/** A function that holds the PDF task and little else, for `pdf-bundle.test.ts`. */
export const run = pdf.run;
