/**
 * Makes SIGUSR1 open nothing. By default Node opens its inspector, which lets any client of that port run
 * code here and read every secret.
 */
export function ignoreInspectorSignal(): void {
  // A listener takes the place of Node's own.
  process.on('SIGUSR1', () => {
    process.stderr.write('SIGUSR1 is ignored: to open an inspector, start the process with --inspect\n')
  })
}
