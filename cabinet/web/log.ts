/** Where the process says what happens; `pino` fits. */
export type Log = {
  info(facts: object, message: string): void
  error(facts: object, message: string): void
}
