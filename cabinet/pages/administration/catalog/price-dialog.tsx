import { useState } from 'react'
import { type ApiProblem, asProblem } from '../../api/problem.ts'
import { textOf } from '../../features/entry/checks.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { formatTime } from '../../kit/date-time.tsx'
import { SelectField, TextField } from '../../kit/fields.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { announce } from '../../kit/toasts.tsx'
import { formatRoubles } from '../../money/rubles.ts'
import { defaultTimeZone } from '../../time/days.ts'
import { type Answer, call, readAgain } from '../calls.ts'
import { ReasonDialog } from '../reason-dialog.tsx'
import type { Model } from './catalog-parts.tsx'
import { catalogAdminWords } from './messages.ts'

type Price = Answer<'GET /admin/models/:model/prices'>['data'][number]

const perTokens = 'spec.pricingRubPerMillionTokens'
const perRequest = 'spec.pricingRubPerRequest'

/** The classes of a price in the form, and in a shown price. */
const classes = [
  ['input', 'input'],
  ['cachedInput', 'cached_input'],
  ['cacheWrite', 'cache_write'],
  ['output', 'output'],
  ['reasoning', 'reasoning'],
] as const

/** Changes what a model costs, now or later, and shows what the last week would have cost. */
export function PriceDialog({
  model,
  etag,
  scheduled,
  onClose,
}: {
  readonly model: Model
  readonly etag: string | undefined
  /** Prices that wait, which the new one can replace. */
  readonly scheduled: readonly Price[]
  readonly onClose: () => void
}) {
  const words = useWords(catalogAdminWords)
  const language = useLanguage()
  const amounts = model.pricing
  return (
    <ReasonDialog
      title={words.changePrice}
      lead={words.priceLead}
      action={words.changePrice}
      check={(values) => checkPrice(values, words)}
      errorsOf={errorsOfPrice}
      send={(values) => send(values, model.model, etag)}
      onDone={() => {
        announce(words.priceChanged)
        void readAgain('/admin/models', '/admin/models/:model', '/admin/models/:model/prices')
      }}
      onClose={onClose}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        {classes.map(([name, shown]) => (
          <TextField
            key={name}
            name={`${perTokens}.${name}`}
            label={words[name]}
            inputMode="decimal"
            autoComplete="off"
            defaultValue={amounts?.[shown] ?? ''}
          />
        ))}
        <TextField
          name={perRequest}
          label={words.perRequest}
          inputMode="decimal"
          autoComplete="off"
          defaultValue={amounts?.per_request ?? '0'}
        />
      </div>
      <TextField name="valid_from" label={words.from} hint={words.fromHint} type="datetime-local" step={1} />
      {scheduled.length > 0 && (
        <SelectField name="replaces" label={words.replace}>
          <option value="">{words.replaceNone}</option>
          {scheduled.map(({ id, valid_from }) => (
            <option key={id} value={id}>
              {formatTime(valid_from, language, defaultTimeZone, 'both')}
            </option>
          ))}
        </SelectField>
      )}
      <Preview model={model.model} />
    </ReasonDialog>
  )
}

/** Asks what the typed price would have cost, without saving it. */
function Preview({ model }: { readonly model: string }) {
  const words = useWords(catalogAdminWords)
  const language = useLanguage()
  const [shown, setShown] = useState<Answer<'POST /admin/models/:model/prices/preview'>>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [isPending, setPending] = useState(false)

  async function ask(form: HTMLFormElement | null): Promise<void> {
    if (form === null) return
    setPending(true)
    setShown(undefined)
    setProblem(undefined)
    try {
      const spec = specOf(new FormData(form))
      setShown(await call('POST /admin/models/:model/prices/preview', { params: { model }, body: { spec } }))
    } catch (error) {
      setProblem(asProblem(error))
    } finally {
      setPending(false)
    }
  }

  const rubles = (text: string) => formatRoubles(text, language, 'exact')
  return (
    <div className="grid justify-items-start gap-2">
      <Button
        variant="secondary"
        isPending={isPending}
        onClick={({ currentTarget }) => void ask(currentTarget.form)}
      >
        {words.preview}
      </Button>
      <p role="status" className="text-sm">
        {shown !== undefined &&
          words.previewOf(shown.request_count, rubles(shown.cost_rub), rubles(shown.cost_at_price_rub))}
      </p>
      {problem !== undefined && <ProblemNote problem={problem} fallback={words.priceWrong} />}
    </div>
  )
}

function amountOf(values: FormData, name: string): string {
  return textOf(values, name).replace(/[\s₽]/g, '').replace(',', '.')
}

/** The price as the server reads it. */
function specOf(values: FormData) {
  const given = classes.flatMap(([name]) => {
    const amount = amountOf(values, `${perTokens}.${name}`)
    return amount === '' ? [] : [[name, amount] as const]
  })
  return {
    pricingRubPerMillionTokens: { input: '', ...Object.fromEntries(given) },
    pricingRubPerRequest: amountOf(values, perRequest) || '0',
  }
}

function checkPrice(values: FormData, words: (typeof catalogAdminWords)['ru']) {
  const wrong = classes.flatMap(([name]) => {
    const field = `${perTokens}.${name}`
    const amount = amountOf(values, field)
    const isRight = amount === '' ? name !== 'input' : /^\d{1,12}(\.\d{1,3})?$/.test(amount)
    return isRight ? [] : [[field, words.priceWrong] as const]
  })
  const from = textOf(values, 'valid_from')
  const isTime = from === '' || !Number.isNaN(momentOf(from).getTime())
  return { ...Object.fromEntries(wrong), ...(isTime ? {} : { valid_from: words.fromWrong }) }
}

/** A typed time is one in Moscow, as shown times are. */
function momentOf(typed: string): Date {
  return new Date(`${typed}+03:00`)
}

function send(values: FormData, model: string, etag: string | undefined) {
  const [from, replaces] = [textOf(values, 'valid_from'), textOf(values, 'replaces')]
  return call('POST /admin/models/:model/prices', {
    params: { model },
    ifMatch: etag ?? '',
    body: {
      spec: specOf(values),
      reason: textOf(values, 'reason'),
      ...(from === '' ? {} : { valid_from: momentOf(from).toISOString() }),
      ...(replaces === '' ? {} : { replaces }),
    },
  })
}

/** Errors of the price as a whole are shown at its first field. */
function errorsOfPrice({ errors }: ApiProblem): Readonly<Record<string, string>> | undefined {
  if (errors.length === 0) return undefined
  const first = `${perTokens}.input`
  return Object.fromEntries(
    errors.map(({ path, message }) => [path === perTokens || path === 'spec' ? first : path, message]),
  )
}
