/** The variables that are set: an empty one is not, as in a Helm value or an `.env` line that was left blank. */
export function setVariables(env: NodeJS.ProcessEnv): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
}
