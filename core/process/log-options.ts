import { stdSerializers } from 'pino'

/** Never logged under these names, however they came into a line. */
const hidden = ['authorization', 'x-api-key', 'cookie', 'set-cookie', 'password', 'token', 'secret', 'email']

/** Options of pino in each process that has personal data: they keep it out of every line. */
export const logOptions = {
  redact: hidden.flatMap((name) => [`["${name}"]`, `*["${name}"]`]),
  serializers: { err: errorFacts },
}

/**
 * The part of an error that never quotes user input: Postgres repeats the row that it rejected in `detail`
 * and `where`.
 */
function errorFacts(error: Error) {
  const { type, message, stack, code, schema, table, column, constraint } = stdSerializers.err(error)
  return { type, message, stack, code, schema, table, column, constraint }
}
