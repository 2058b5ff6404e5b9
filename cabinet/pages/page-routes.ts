import type { Language } from './preferences.ts'

/** `public`: for everyone. `entry`: sign-in and registration. `app`: for signed-in users. */
type PageArea = 'public' | 'entry' | 'app'

type PageRoute = { readonly area: PageArea; readonly title: Readonly<Record<Language, string>> }

const page = (area: PageArea, ru: string, en: string): PageRoute => ({ area, title: { ru, en } })

/** Every page. The server responds to these addresses and the browser shows them; any other address is not found. */
export const pageRoutes = {
  '/': page('public', 'Единый API для языковых моделей', 'One API for language models'),
  '/models': page('public', 'Модели и цены', 'Models and prices'),
  '/models/*': page('public', 'Модель', 'Model'),
  '/legal': page('public', 'Документы', 'Documents'),
  '/legal/:kind': page('public', 'Документ', 'Document'),
  '/legal/:kind/:version': page('public', 'Документ', 'Document'),
  '/login': page('entry', 'Вход', 'Sign in'),
  '/login/totp': page('entry', 'Код подтверждения', 'Confirmation code'),
  '/register': page('entry', 'Регистрация', 'Create an account'),
  '/verify-email': page('entry', 'Подтверждение адреса', 'Confirm your address'),
  '/reset': page('entry', 'Новый пароль', 'New password'),
  '/app': page('app', 'Обзор', 'Overview'),
  '/app/keys': page('app', 'Ключи', 'Keys'),
  '/app/keys/:key_id': page('app', 'Ключ', 'Key'),
  '/app/usage': page('app', 'Расход', 'Usage'),
  '/app/requests': page('app', 'Запросы', 'Requests'),
  '/app/requests/:request_id': page('app', 'Запрос', 'Request'),
  '/app/billing': page('app', 'Баланс', 'Billing'),
  '/app/billing/return': page('app', 'Платёж', 'Payment'),
  '/app/playground': page('app', 'Песочница', 'Playground'),
  '/app/settings': page('app', 'Настройки', 'Settings'),
} as const satisfies Readonly<Record<string, PageRoute>>

export type PagePath = keyof typeof pageRoutes

/** The variable parts of a page's address; `*` is the whole rest, slashes included. */
export type PageParams = Readonly<Record<string, string>>

/** The page of an address, with its variable parts decoded; `undefined`: none. Pure. */
export function findPage(
  pathname: string,
): { readonly path: PagePath; readonly params: PageParams } | undefined {
  const parts = partsOf(pathname)
  if (parts === undefined) return undefined
  for (const path of paths) {
    const params = match(path.slice(1).split('/'), parts)
    if (params !== undefined) return { path, params }
  }
  return undefined
}

const paths = Object.keys(pageRoutes) as PagePath[]

/** Without a trailing slash; `undefined` if the encoding is invalid. */
function partsOf(pathname: string): readonly string[] | undefined {
  try {
    return pathname.replace(/\/$/, '').split('/').slice(1).map(decodeURIComponent)
  } catch {
    return undefined
  }
}

function match(pattern: readonly string[], parts: readonly string[]): PageParams | undefined {
  const params: Record<string, string> = {}
  const given = parts.length === 0 ? [''] : parts
  for (const [index, wanted] of pattern.entries()) {
    const part = given[index]
    if (part === undefined || (part === '' && wanted !== '')) return undefined
    if (wanted === '*') return { '*': given.slice(index).join('/') }
    if (wanted.startsWith(':')) params[wanted.slice(1)] = part
    else if (wanted !== part) return undefined
  }
  return given.length === pattern.length ? params : undefined
}

export const productName = 'Model Gateway'

/** The title in the browser's tab. Pure. */
export function pageTitle(name: string): string {
  return `${name} · ${productName}`
}

export const notFoundTitle: Readonly<Record<Language, string>> = {
  ru: 'Страница не найдена',
  en: 'Page not found',
}
