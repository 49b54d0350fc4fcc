import { extractImages, getDocumentProxy, getResolvedPDFJS } from 'unpdf';

/** A PDF's pages: their sizes in points, where their texts stand, the pictures on them and where each picture's pixels lie. */
export async function lookInto(bytes: Uint8Array) {
  const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 });
  const { OPS } = await getResolvedPDFJS();
  const pages = [];
  for (let number = 1; number <= document.numPages; number++) {
    const page = await document.getPage(number);
    const { fnArray, argsArray } = await page.getOperatorList();
    const transforms = fnArray.flatMap((fn, index) => (fn === OPS.transform ? [Array.from(argsArray[index])] : []));
    const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
    const { items } = await page.getTextContent();
    const texts = items.flatMap((item) =>
      'str' in item && item.str.trim() !== ''
        ? [
            {
              text: item.str,
              left: item.transform[4] as number,
              base: item.transform[5] as number,
              right: item.transform[4] + item.width,
            },
          ]
        : [],
    );
    pages.push({
      texts,
      width: right - left,
      height: top - bottom,
      pictures: await extractImages(document, number),
      transforms,
    });
  }
  return { info: (await document.getMetadata()).info as Record<string, unknown>, pages };
}

/** The point in which transforms, the first one outermost, put x and y. */
export function placed(transforms: readonly unknown[][], x: number, y: number): [number, number] {
  return transforms.toReversed().reduce<[number, number]>(
    ([px, py], transform) => {
      const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = transform as number[];
      return [a * px + c * py + e, b * px + d * py + f];
    },
    [x, y],
  );
}
