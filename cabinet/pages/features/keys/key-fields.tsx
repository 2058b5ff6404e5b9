import { serverNowMs } from '../../api/server-clock.ts'
import { useWords } from '../../i18n/language.ts'
import { AmountField, TextArea, TextField } from '../../kit/fields.tsx'
import { budgetNames, type KeyValues } from './key-values.ts'
import { keyWords } from './messages.ts'
import { ModelsField } from './models-field.tsx'
import { moscowDay } from './moscow-day.ts'

/** The name and limits of a key. */
export function KeyFields({ values }: { readonly values: KeyValues }) {
  const words = useWords(keyWords)
  return (
    <>
      <TextField
        name="name"
        label={words.name}
        hint={words.nameHint}
        defaultValue={values.name}
        dir="auto"
        autoComplete="off"
      />
      <TextField
        name="tags"
        label={words.tags}
        hint={words.tagsHint}
        defaultValue={values.tags}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <div className="grid items-start gap-5 sm:grid-cols-2">
        {budgetNames.map((budget) => (
          <AmountField
            key={budget}
            name={budget}
            label={words.budgets[budget]}
            hint={words.budgetHints[budget]}
            defaultValue={values[budget]}
          />
        ))}
        <TextField
          name="expires_at"
          label={words.expiresOn}
          hint={words.expiresHint}
          type="date"
          min={moscowDay(serverNowMs())}
          max="9998-12-30"
          defaultValue={values.expires_at}
        />
        {(['rpm', 'tpm'] as const).map((rate) => (
          <TextField
            key={rate}
            name={rate}
            label={words[rate]}
            hint={words.rateHint}
            inputMode="numeric"
            autoComplete="off"
            defaultValue={values[rate]}
          />
        ))}
        <TextField
          name="keeps_responses_hours"
          label={words.keepsHours}
          hint={words.keepsHoursHint}
          inputMode="numeric"
          autoComplete="off"
          defaultValue={values.keeps_responses_hours}
        />
      </div>
      <IpsField values={values} />
      <ModelsField chosen={values.allowed_models} />
    </>
  )
}

function IpsField({ values }: { readonly values: KeyValues }) {
  const words = useWords(keyWords)
  return (
    <TextArea
      name="allowed_ips"
      label={words.allowedIps}
      hint={words.allowedIpsHint}
      rows={3}
      defaultValue={values.allowed_ips}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  )
}
