/**
 * The user's preferences, in cookies of this browser: the server writes both into `<html>`, so that nothing flickers.
 */
export const languages = ['ru', 'en'] as const
export type Language = (typeof languages)[number]
export const languageCookie = 'model_gateway_language'

/** `system`: the device setting. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]
export const themeCookie = 'model_gateway_theme'

/** A value of the closed set, or `undefined`: a client can send any cookie. */
export function findLanguage(text: string | undefined): Language | undefined {
  return languages.find((language) => language === text)
}

export function findTheme(text: string | undefined): Theme | undefined {
  return themes.find((theme) => theme === text)
}
