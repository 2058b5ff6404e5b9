import { access } from 'node:fs/promises'

/** Go, from the place of its installer, or from PATH. */
export async function goProgram(): Promise<string> {
  const usual = '/usr/local/go/bin/go'
  return access(usual).then(
    () => usual,
    () => 'go',
  )
}
