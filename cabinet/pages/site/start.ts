import { keepPreference } from '../i18n/kept-preference.ts'
import { findTheme, languageCookie, themeCookie } from '../preferences.ts'
import { keepLive } from './live-form.ts'
import { offerSearch } from './offer-search.ts'
import './look.css'

/** The script of public pages. Without it they are complete, but for a choice of the theme and the search. */
keepChosenLanguage()
offerThemes()
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-search]')) offerSearch(form)

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-live]')) keepLive(form)

/** The cabinet has the language that a reader chose here. The other version opens at the same heading. */
function keepChosenLanguage(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-language]'))
    link.addEventListener('click', () => {
      keepPreference(languageCookie, link.dataset.language ?? '')
      link.hash = location.hash
    })
}

function offerThemes(): void {
  const label = document.querySelector<HTMLElement>('[data-theme-choice]')
  const select = label?.querySelector('select')
  if (!label || !select) return
  const { dataset } = document.documentElement
  select.value = dataset.theme ?? 'system'
  select.addEventListener('change', () => {
    const theme = findTheme(select.value) ?? 'system'
    keepPreference(themeCookie, theme)
    dataset.theme = theme
  })
  label.hidden = false
}
