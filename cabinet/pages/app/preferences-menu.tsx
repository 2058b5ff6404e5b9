import { type ReactNode, useId } from 'react'
import { useLanguage, useWords } from '../i18n/language.ts'
import { classNames } from '../kit/class-names.ts'
import { Icon, type IconName } from '../kit/icon.tsx'
import { type Language, languages, type Theme, themes } from '../preferences.ts'
import { shellWords } from './messages.ts'
import { setTheme, useTheme } from './theme.ts'

/** Each language in that language, for users who read no other. */
const languageNames: Readonly<Record<Language, string>> = { ru: 'Русский', en: 'English' }
const themeIcons: Readonly<Record<Theme, IconName>> = { system: 'device', light: 'sun', dark: 'moon' }

/** Language and theme; both change at once, without a reload. */
export function Preferences({ onLanguage }: { readonly onLanguage: (language: Language) => void }) {
  const words = useWords(shellWords)
  const [language, theme] = [useLanguage(), useTheme()]
  const themeNames = { system: words.themeSystem, light: words.themeLight, dark: words.themeDark }
  return (
    <div className="grid gap-4">
      <Choice legend={words.language}>
        {languages.map((one) => (
          <Option key={one} isChosen={one === language} lang={one} onChoose={() => onLanguage(one)}>
            {languageNames[one]}
          </Option>
        ))}
      </Choice>
      <Choice legend={words.theme}>
        {themes.map((one) => (
          <Option key={one} isChosen={one === theme} icon={themeIcons[one]} onChoose={() => setTheme(one)}>
            {themeNames[one]}
          </Option>
        ))}
      </Choice>
    </div>
  )
}

function Choice({ legend, children }: { readonly legend: string; readonly children: ReactNode }) {
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form input
    <div role="group" aria-labelledby={id} className="grid gap-1">
      <p id={id} className="px-2 text-xs font-medium text-muted">
        {legend}
      </p>
      {children}
    </div>
  )
}

function Option({
  isChosen,
  icon,
  lang,
  onChoose,
  children,
}: {
  readonly isChosen: boolean
  readonly icon?: IconName
  readonly lang?: Language
  readonly onChoose: () => void
  readonly children: string
}) {
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      lang={lang}
      className={classNames(
        'flex min-h-9 items-center gap-3 rounded-md px-2 text-start text-base hover:bg-hover',
        isChosen ? 'font-medium text-accent' : 'text-ink',
      )}
      onClick={onChoose}
    >
      {icon && <Icon name={icon} />}
      <span className="flex-1">{children}</span>
      {isChosen && <Icon name="check" size={16} />}
    </button>
  )
}
