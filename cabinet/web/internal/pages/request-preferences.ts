import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  findLanguage,
  findTheme,
  type Language,
  languageCookie,
  type Theme,
  themeCookie,
} from '../../../pages/preferences.ts'
import { localeOf } from '../api/locale.ts'

export type Preferences = { readonly language: Language; readonly theme: Theme }

/** The language and theme that a browser asks for. */
export function preferencesOf(request: FastifyRequest, app: FastifyInstance): Preferences {
  const { headers } = request
  // Cookies are not parsed for requests that Fastify itself rejects.
  const cookies = request.cookies ?? app.parseCookie(headers.cookie ?? '')
  return {
    language: findLanguage(cookies[languageCookie]) ?? localeOf(headers['accept-language']),
    theme: findTheme(cookies[themeCookie]) ?? 'system',
  }
}
