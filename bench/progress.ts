/** One line on the terminal that says how far it is. */
export function progress(what: string): (done: number) => void {
  return (done) => {
    if (process.stderr.isTTY)
      process.stderr.write(`\r\x1b[K${what}: ${Math.round(done * 100)} %${done === 1 ? '\n' : ''}`);
    else if (done === 1) process.stderr.write(`${what}: done\n`);
  };
}
