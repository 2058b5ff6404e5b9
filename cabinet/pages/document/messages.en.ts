import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  skip: 'Skip to content',
  siteNavigation: 'Site sections',
  models: 'Models',
  docs: 'Docs',
  login: 'Sign in',
  legal: 'Documents',
  language: 'Language',
  preferences: 'Appearance',
  themeSystem: 'Same as on this device',
  themeLight: 'Light',
  themeDark: 'Dark',
}
