/** Says a figure of this run, for `RESULTS.md`. */
export function figure(of: string, value: string): void {
  process.stdout.write(`figure: ${of}: ${value}\n`)
}
