/** HTML whose parts from texts are escaped. */
export type Html = { readonly markup: string }

type Part = Html | string | number | undefined | false | readonly Part[]

/**
 * Writes HTML: texts between its parts are escaped, in attributes with double quotes too. `undefined` and `false`
 * leave nothing. Pure.
 */
export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const markup = literals.map((literal, place) => `${literal}${markupOf(parts[place])}`).join('')
  return { markup }
}

function markupOf(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string') return escapeHtml(part)
  if (typeof part === 'number') return String(part)
  return 'markup' in part ? part.markup : part.map(markupOf).join('')
}

/** HTML from a renderer that escapes by itself. Never from a text of a user, a model or a provider. */
export function trustedHtml(markup: string): Html {
  return { markup }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text as HTML that shows it. Pure. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}
