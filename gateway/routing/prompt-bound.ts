import { familyOf, type ModelFamily } from '../tokens/model-families.ts'
import { hasProvidersTools, isInert, type PromptContent } from '../tokens/prompt-content.ts'
import { isSent } from '../upstream/dialect.ts'
import type { Route } from './route-table.ts'

/**
 * The most prompt tokens that a request can have on `route`, `null`: nothing bounds them.
 *
 * An upper bound, not an estimate. A byte-level tokenizer never makes more tokens than bytes, so that of text is its
 * bytes; what is outside of the body may fill the model's whole context, and no prompt is longer than that. The hold, the
 * price cap, TPM and what is believed of a provider's count all use this figure.
 */
export function promptTokensMax(content: PromptContent, { document, backends }: Route): number | null {
  const { contextLength } = document
  const context = contextLength === null ? null : content.prompts * contextLength
  if (content.outside !== null || addsContent(content, backends)) return context
  const bytes = content.bytes + Math.max(0, ...backends.map(({ dialect }) => dialect.route.defaultsBytes))
  return context === null ? bytes : Math.min(bytes, context)
}

/**
 * The families by which a prompt can be measured on `route`, one for each of its backends; `undefined` where measuring would
 * not bound it: a family publishes nothing, or a provider may add content.
 */
export function familiesOf(
  content: PromptContent,
  { document, backends }: Route,
): readonly ModelFamily[] | undefined {
  if (addsContent(content, backends)) return undefined
  const families = backends.map(({ dialect }) => familyOf([dialect.model, document.model]))
  return families.every((family) => family !== undefined) && families.length > 0 ? families : undefined
}

/** Whether a provider may add content to the prompt, for a parameter of the caller or of the route. */
function addsContent({ unknownParameters, unseenAt }: PromptContent, backends: Route['backends']): boolean {
  return backends.some(
    ({ dialect }) =>
      unknownParameters.some((name) => isSent(name, dialect)) ||
      (unseenAt !== undefined && dialect.relay?.relay.api === unseenAt) ||
      dialect.route.defaults.some(({ name, value }) => mayAddContent(name, value)),
  )
}

function mayAddContent(name: string, value: unknown): boolean {
  return (
    !isInert(name, value) || (name === 'tools' && hasProvidersTools(value)) || name === 'web_search_options'
  )
}
