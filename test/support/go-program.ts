import { access } from 'node:fs/promises'

/** Go, of its own installer's place, or of PATH. */
export async function goProgram(): Promise<string> {
  const usual = '/usr/local/go/bin/go'
  return access(usual).then(
    () => usual,
    () => 'go',
  )
}
