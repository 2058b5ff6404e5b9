/** Prints a figure of this run. */
export function figure(of: string, value: string): void {
  process.stdout.write(`figure: ${of}: ${value}\n`)
}

/** How long something took. @param startMs of `performance.now` */
export function since(startMs: number): string {
  return `${((performance.now() - startMs) / 1000).toFixed(1)} s`
}
