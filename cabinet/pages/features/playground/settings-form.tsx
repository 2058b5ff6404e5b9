import type { Answer } from '../../api/calls.ts'
import { useWords } from '../../i18n/language.ts'
import { Combobox } from '../../kit/combobox.tsx'
import { TextArea, TextField } from '../../kit/fields.tsx'
import { Fold } from '../../kit/fold.tsx'
import { Section } from '../../kit/section.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { playgroundWords } from './messages.ts'
import { readMaxTokens, readTemperature } from './typed-options.ts'

export type Model = Answer<'GET /models/models-with-pricing'>['data'][number]

/** As it was typed. */
export type TypedSettings = {
  readonly model: string
  readonly system: string
  readonly temperature: string
  readonly maxTokens: string
}

type Props = {
  readonly models: readonly Model[]
  readonly typed: TypedSettings
  readonly onChange: (changes: Partial<TypedSettings>) => void
}

/** The model and its settings. */
export function SettingsForm({ models, typed, onChange }: Props) {
  const words = useWords(playgroundWords)
  const isTemperatureWrong = readTemperature(typed.temperature) === 'wrong'
  const isMaxTokensWrong = readMaxTokens(typed.maxTokens) === 'wrong'
  const isWrong = isTemperatureWrong || isMaxTokensWrong
  return (
    <Section title={words.settings}>
      <div className="grid gap-4">
        <Combobox
          name="model"
          label={words.model}
          hint={
            <TextLink href={`/models/${typed.model}`} isNewTab>
              {words.aboutModel}
            </TextLink>
          }
          choices={models.map(({ id, name }) => ({ value: id, label: name }))}
          value={typed.model}
          onChoose={(model) => onChange({ model })}
        />
        <div>
          <Fold label={words.moreSettings} isNeeded={isWrong}>
            <div className="grid gap-4">
              <TextArea
                name="system"
                label={words.system}
                hint={words.systemHint}
                rows={3}
                value={typed.system}
                onChange={(event) => onChange({ system: event.target.value })}
              />
              <div className="grid grid-cols-2 items-start gap-4">
                <TextField
                  name="temperature"
                  label={words.temperature}
                  placeholder={words.ofModel}
                  inputMode="decimal"
                  autoComplete="off"
                  maxLength={20}
                  value={typed.temperature}
                  error={isTemperatureWrong ? words.temperatureWrong : undefined}
                  onChange={(event) => onChange({ temperature: event.target.value })}
                />
                <TextField
                  name="max_tokens"
                  label={words.maxTokens}
                  placeholder={words.ofModel}
                  inputMode="numeric"
                  autoComplete="off"
                  maxLength={20}
                  value={typed.maxTokens}
                  error={isMaxTokensWrong ? words.maxTokensWrong : undefined}
                  onChange={(event) => onChange({ maxTokens: event.target.value })}
                />
              </div>
            </div>
          </Fold>
        </div>
      </div>
    </Section>
  )
}
