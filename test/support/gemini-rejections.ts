/** The words for a rule that is documented without any. */
export const general = 'Request contains an invalid argument.'

/** The words for a rule about one field. */
export const field = (path: string, reason: string) => `* GenerateContentRequest.${path}: ${reason}\n`

/** The words for a field that the message at `path` does not have. */
export const unknown = (name: string, path: string) =>
  `Invalid JSON payload received. Unknown name "${name}"${path === '' ? '' : ` at '${path}'`}: Cannot find field.`

/** The words for "SOME" in the place of an enum or a message. */
export const typed = (path: string, type: string) =>
  `Invalid value at '${path}' (type.googleapis.com/google.ai.generativelanguage.v1beta.${type}), "SOME"`

/** The words for a list in the place of one value. */
export const noList = 'Proto field is not repeating, cannot start list.'
