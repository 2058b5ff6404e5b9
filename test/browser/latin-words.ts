import type { Page } from 'playwright-core'

/** Latin words allowed on Russian pages: names, and terms without a Russian form. Nothing else may be there. */
const known = new Set(
  `Model Gateway API SDK ID URL CSV IP JSON HTTP HTTPS QR TOTP curl Python Node js JavaScript OpenAI kubectl Kubernetes
   Markdown English Enter Shift NAMESPACE Chrome Chromium Firefox Safari Linux Windows
   Standard Webhooks Go Java Anthropic AI LangChain LlamaIndex Codex Claude Code Cursor Cline Continue Open WebUI Telegram`.split(
    /\s+/,
  ),
)

/** Fields of responses with names given by users, and codes of errors: they are shown unchanged. */
const isName =
  /(?:^|_)(?:name|id|email|model|provider|prefix|masked|agent|address|backend|description|organization|code)$/

/** Spelled the same in every language. */
const quoted = ['base_url', 'x-gateway-request-id', '5xx']

/** The names given by users and providers, from all responses that this page reads from now on. */
export function namesReadBy(page: Page): ReadonlySet<string> {
  const names = new Set(quoted)
  const collect = (value: unknown, field = ''): void => {
    if (typeof value === 'string' && isName.test(field) && value.length > 1) names.add(value)
    else if (Array.isArray(value)) for (const one of value) collect(one, field)
    else if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) collect(one, key)
  }
  page.on('response', (response) => {
    if (!response.ok() || !(response.headers()['content-type'] ?? '').includes('application/json')) return
    response.json().then(collect, () => undefined)
  })
  return names
}

/** Words in Latin letters that are neither allowed nor a name. Pure. */
export function findLatinWords(texts: readonly string[], names: ReadonlySet<string>): readonly string[] {
  const longestFirst = [...names].toSorted((a, b) => b.length - a.length)
  return texts.flatMap((text) => {
    const rest = longestFirst.reduce((left, name) => left.replaceAll(name, ' '), text)
    const strange = (rest.match(/[A-Za-z]{2,}/g) ?? []).filter((word) => !known.has(word))
    return strange.length === 0 ? [] : [`${strange.join(', ')} in «${text}»`]
  })
}
