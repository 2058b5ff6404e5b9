import { stdSerializers } from 'pino'

/** Never logged under these names, however they came into a line. */
const hidden = ['authorization', 'cookie', 'set-cookie', 'password', 'token', 'secret', 'email']

/** What pino is told in each process that has personal data: nothing of it is in a line. */
export const logOptions = {
  redact: hidden.flatMap((name) => [`["${name}"]`, `*["${name}"]`]),
  serializers: { err: errorFacts },
}

/** Of an error that which never quotes what somebody sent: Postgres repeats the row that it refused in `detail` and `where`. */
function errorFacts(error: Error) {
  const { type, message, stack, code, schema, table, column, constraint } = stdSerializers.err(error)
  return { type, message, stack, code, schema, table, column, constraint }
}
