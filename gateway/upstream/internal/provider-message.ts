import { fieldsOf, itemsOf } from '../../wire/json-fields.ts'

/** Longest message of a provider that we read, and that we show, in UTF-16 units. */
const readLengthMax = 4096
const shownLengthMax = 500

/**
 * The words of a provider's error body, whatever its shape: `error.message`, `error`, `message`, `detail`, `text`;
 * `undefined` if it has none (HTML, empty).
 */
export function findProviderMessage(body: unknown): string | undefined {
  const outer = fieldsOf(body)
  const error = outer?.error
  const detail = outer?.detail
  const details = itemsOf(detail).map((item) => fieldsOf(item)?.msg)
  const candidates = [fieldsOf(error)?.message, error, outer?.message, detail, ...details, outer?.text]
  const found = candidates.find((text) => typeof text === 'string' && text.trim() !== '')
  return typeof found === 'string' ? found.slice(0, readLengthMax) : undefined
}

/**
 * A provider's words as a client may read them: one line, bounded, without addresses, account names and anything
 * that looks like a secret. `null` where nothing is left to say.
 */
export function showableMessage(message: string | undefined): string | null {
  if (message === undefined || /<\/?(?:html|body|!doctype)/i.test(message)) return null
  const shown = hidden
    .reduce((text, pattern) => text.replace(pattern, '[hidden]'), message)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  if (shown === '') return null
  return shown.length > shownLengthMax ? `${shown.slice(0, shownLengthMax)}…` : shown
}

/** Text that is never shown. Each pattern is linear on the bounded text. */
const hidden: readonly RegExp[] = [
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]+/gi,
  /\b(?:Bearer|Basic|Api-Key)\s+[^\s"',]+/gi,
  /\b(?:sk|pk|rk|gsk|xai|org|proj)[-_][\w*.-]{6,}/gi,
  // A secret that the provider itself has hidden in part.
  /[\w-]{0,16}\*{3,}[\w-]{0,16}/g,
  /\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}/g,
  /\blocalhost(?::\d+)?\b/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g,
  /\[[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}\](?::\d+)?/gi,
  /\b(?:[\w-]{1,63}\.){1,8}(?:com|net|org|ai|io|ru|dev|cn|cloud|local|internal|svc|xyz|app|tech)\b(?::\d+)?/gi,
  // A long run of letters and digits mixed is a token of some kind; words and paths are not.
  /\b(?=[\w-]{0,200}\d)(?=[\w-]{0,200}[A-Za-z])[\w-]{24,}/g,
]

/**
 * A message without these texts, however short they are. Of one that was cut the end goes, too: it may hold the
 * beginning of one.
 */
export function withoutSecrets(message: string, secrets: readonly string[]): string {
  const longest = Math.max(0, ...secrets.map(({ length }) => length))
  const whole = secrets.reduce((text, secret) => text.replaceAll(secret, '[hidden]'), message)
  return message.length < readLengthMax || longest === 0 ? whole : whole.slice(0, -longest)
}
