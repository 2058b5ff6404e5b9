import { documentWords } from './document/messages.ts'
import { type Html, html } from './html.ts'
import { type Language, languages, type Theme } from './preferences.ts'
import { addressIn } from './public-addresses.ts'
import { pageTitle, productName } from './route-table.ts'

/** A page for everyone, complete without JavaScript. */
export type PublicPage = {
  readonly language: Language
  /** The only `h1` of the body has this text too. */
  readonly title: string
  /** A sentence or two for search results, without markup. */
  readonly description: string
  /** Its address in the default language: `/docs/errors`, without a slash at its end. */
  readonly path: string
  /** The languages that have this page; all of them by default. */
  readonly languages?: readonly Language[]
  /** The content of `<main>`. */
  readonly body: Html
  /** The address of its Markdown version. */
  readonly markdownAddress?: string
}

/** What all public pages of a process share. */
export type PublicSite = {
  /** `https://cabinet.example.ru`, without a slash at its end. */
  readonly origin: string
  readonly assets: PublicAssets
}

/** Addresses of the style sheet and the script that the build made for public pages. */
export type PublicAssets = { readonly style: string; readonly script: string }

/**
 * The whole HTML document of a public page: head, header, body, footer. It contains no inline script and no `style`,
 * and its text is readable without JavaScript. Texts are escaped. Pure: at build time or for each request.
 */
export function writePublicDocument(page: PublicPage, site: PublicSite, theme: Theme = 'system'): string {
  const words = documentWords[page.language]
  const { markup } = html`<!doctype html>
<html lang="${page.language}" data-theme="${theme}">
<head>
${headOf(page, site)}
</head>
<body class="flex min-h-dvh flex-col">
<a href="#main" class="fixed start-4 -top-20 z-50 rounded-md bg-accent px-4 py-2 font-medium text-on-accent focus:top-2">${words.skip}</a>
${headerOf(page)}
<main id="main" tabindex="-1" class="mx-auto w-full max-w-6xl flex-1 px-4 py-8 sm:px-6">
${page.body}
</main>
${footerOf(page)}
</body>
</html>
`
  return markup
}

const locales: Readonly<Record<Language, string>> = { ru: 'ru_RU', en: 'en_US' }

function headOf(page: PublicPage, { origin, assets }: PublicSite): Html {
  const { language, title, description, path, markdownAddress } = page
  const address = `${origin}${addressIn(language, path)}`
  return html`<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="same-origin">
<title>${pageTitle(title)}</title>
<meta name="description" content="${description}">
<link rel="canonical" href="${address}">
${languagesOf(page).map(
  (one) => html`<link rel="alternate" hreflang="${one}" href="${origin}${addressIn(one, path)}">
`,
)}<link rel="alternate" hreflang="x-default" href="${origin}${addressIn(languagesOf(page)[0] ?? language, path)}">
${
  markdownAddress !== undefined &&
  html`<link rel="alternate" type="text/markdown" href="${origin}${markdownAddress}">
`
}<meta property="og:type" content="website">
<meta property="og:site_name" content="${productName}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:url" content="${address}">
<meta property="og:locale" content="${locales[language]}">
${otherLanguagesOf(page).map(
  (other) => html`<meta property="og:locale:alternate" content="${locales[other]}">
`,
)}<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">
<script type="module" src="${assets.script}"></script>`
}

const link =
  'inline-flex min-h-9 items-center rounded-md px-2 text-sm font-medium text-muted no-underline hover:bg-hover hover:text-ink sm:px-3'

function languagesOf(page: PublicPage): readonly Language[] {
  return page.languages ?? languages
}

function otherLanguagesOf(page: PublicPage): readonly Language[] {
  return languagesOf(page).filter((other) => other !== page.language)
}

function headerOf(page: PublicPage): Html {
  const { language, path } = page
  const words = documentWords[language]
  const entry = (target: string, text: string) =>
    html`<a href="${addressIn(language, target)}" class="${link}"${isWithin(path, target) && html` aria-current="true"`}>${text}</a>`
  return html`<header class="border-b border-line bg-surface">
<div class="mx-auto flex min-h-14 max-w-6xl flex-wrap items-center gap-x-1 px-4 sm:px-6">
${brandOf()}
<nav aria-label="${words.siteNavigation}" class="flex flex-wrap sm:ms-2">
${entry('/models', words.models)}
${entry('/docs', words.docs)}
</nav>
<div class="ms-auto flex flex-wrap items-center gap-1">
${otherLanguagesOf(page).map((other) => languageLink(other, path))}
<a href="/app" class="inline-flex min-h-9 items-center rounded-md border border-edge bg-surface px-3 text-sm font-medium text-ink no-underline hover:bg-hover">${words.login}</a>
</div>
</div>
</header>`
}

function isWithin(path: string, section: string): boolean {
  return path === section || path.startsWith(`${section}/`)
}

/** Each language in that language, for readers who know no other. */
const languageNames: Readonly<Record<Language, string>> = { ru: 'Русский', en: 'English' }

/** The script keeps the choice for the cabinet, and the place within the page. */
function languageLink(language: Language, path: string): Html {
  return html`<a href="${addressIn(language, path)}" hreflang="${language}" lang="${language}" data-language="${language}" class="${link}">${languageNames[language]}</a>`
}

function brandOf(): Html {
  return html`<a href="/" class="inline-flex min-h-9 items-center gap-2.5 rounded-md font-semibold text-ink no-underline">
<svg aria-hidden="true" width="26" height="26" viewBox="0 0 32 32" class="shrink-0"><rect width="32" height="32" rx="9" class="fill-accent"/><path d="M8 22V12.5a4 4 0 0 1 8 0V22m0-9.5a4 4 0 0 1 8 0V22" fill="none" class="stroke-on-accent" stroke-width="2.75" stroke-linecap="round"/></svg>
<span translate="no" class="whitespace-nowrap max-sm:sr-only">${productName}</span>
</a>`
}

/** The choice of a theme needs the script, which shows it. */
function footerOf({ language }: PublicPage): Html {
  const words = documentWords[language]
  const themes = [
    ['system', words.themeSystem],
    ['light', words.themeLight],
    ['dark', words.themeDark],
  ] as const
  return html`<footer class="border-t border-line">
<div class="mx-auto flex max-w-6xl flex-wrap items-center gap-1 px-2 py-3 sm:px-3">
<a href="${addressIn(language, '/models')}" class="${link}">${words.models}</a>
<a href="${addressIn(language, '/docs')}" class="${link}">${words.docs}</a>
<a href="/legal" class="${link}">${words.legal}</a>
<label hidden data-theme-choice class="ms-auto inline-flex items-center gap-2 px-2 text-sm text-muted">${words.preferences}
<select class="min-h-9 rounded-md border border-edge bg-surface px-2 text-ink">${themes.map(([value, name]) => html`<option value="${value}">${name}</option>`)}</select>
</label>
</div>
</footer>`
}
