import type { Language } from './preferences.ts'
import { findRoute, type PageParams } from './route-table.ts'

/** `public`: for everyone. `entry`: sign-in and registration. `app`: for signed-in users. */
type PageArea = 'public' | 'entry' | 'app'

type PageRoute = { readonly area: PageArea; readonly title: Readonly<Record<Language, string>> }

const page = (area: PageArea, ru: string, en: string): PageRoute => ({ area, title: { ru, en } })

/** Every page. The server responds to these addresses and the browser shows them; any other address is not found. */
export const pageRoutes = {
  '/': page('public', 'Единый API для языковых моделей', 'One API for language models'),
  '/legal': page('public', 'Документы', 'Documents'),
  '/legal/:kind': page('public', 'Документ', 'Document'),
  '/legal/:kind/:version': page('public', 'Документ', 'Document'),
  '/login': page('entry', 'Вход', 'Sign in'),
  '/login/totp': page('entry', 'Код подтверждения', 'Confirmation code'),
  '/register': page('entry', 'Регистрация', 'Create an account'),
  '/verify-email': page('entry', 'Подтверждение адреса', 'Confirm your address'),
  '/reset': page('entry', 'Новый пароль', 'New password'),
  '/email-change': page('entry', 'Смена адреса', 'Change of address'),
  '/totp-reset': page('entry', 'Второй фактор', 'Second factor'),
  '/app': page('app', 'Обзор', 'Overview'),
  '/app/keys': page('app', 'Ключи', 'Keys'),
  '/app/keys/:key_id': page('app', 'Ключ', 'Key'),
  '/app/usage': page('app', 'Расход', 'Usage'),
  '/app/requests': page('app', 'Запросы', 'Requests'),
  '/app/requests/:request_id': page('app', 'Запрос', 'Request'),
  '/app/billing': page('app', 'Баланс', 'Billing'),
  '/app/billing/payments': page('app', 'Платежи и документы', 'Payments and documents'),
  '/app/billing/history': page('app', 'История', 'History'),
  '/app/billing/return': page('app', 'Платёж', 'Payment'),
  '/app/connect': page('app', 'Подключение', 'Connect'),
  '/app/playground': page('app', 'Песочница', 'Playground'),
  '/app/models': page('app', 'Модели и цены', 'Models and prices'),
  '/app/models/compare': page('app', 'Сравнение моделей', 'Compare models'),
  '/app/models/*': page('app', 'Модель', 'Model'),
  '/app/team': page('app', 'Команда', 'Team'),
  '/app/invitations/:invitation_id': page('app', 'Приглашение', 'Invitation'),
  '/app/settings': page('app', 'Настройки', 'Settings'),
} as const satisfies Readonly<Record<string, PageRoute>>

export type PagePath = keyof typeof pageRoutes

const paths = Object.keys(pageRoutes) as PagePath[]

/** The page of an address, with its variable parts decoded; `undefined`: none. Pure. */
export function findPage(
  pathname: string,
): { readonly path: PagePath; readonly params: PageParams } | undefined {
  return findRoute(paths, pathname)
}
