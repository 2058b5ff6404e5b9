import { useRef, useState } from 'react'
import { callVersioned, type Versioned } from '../../api/call.ts'
import { asProblem } from '../../api/problem.ts'
import { readAgain } from '../../api/queries.ts'
import { serverNowMs } from '../../api/server-clock.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { Section } from '../../kit/section.tsx'
import { announce } from '../../kit/toasts.tsx'
import type { Language } from '../../preferences.ts'
import type { Key } from './key.ts'
import { KeyFields } from './key-fields.tsx'
import {
  budgetNames,
  changesOf,
  checkValues,
  type KeyValues,
  keyErrorsOf,
  mergeValues,
  typedValues,
  valuesOf,
} from './key-values.ts'
import { keyWords } from './messages.ts'

/** The state of the key that the form shows and changes. */
type Basis = {
  readonly versioned: Versioned<Key>
  /** The initial values of the fields. */
  readonly values: KeyValues
  /** Another user has changed the key since. */
  readonly isConflict: boolean
}

/**
 * The result of saving. `unchanged`: nothing was sent. `conflict`: another user was first, and the form shows their
 * version.
 */
type Saved = Versioned<Key> | 'unchanged' | 'conflict'

/** Changes name and limits unless another user has changed them since they were shown. */
export function LimitsSection({ versioned }: { readonly versioned: Versioned<Key> }) {
  const words = useWords(keyWords)
  const language = useLanguage()
  const [basis, setBasis] = useState(() => basisOf(versioned, language))
  const [isTouched, setTouched] = useState(false)
  const [generation, setGeneration] = useState(0)
  const fields = useRef<HTMLDivElement>(null)
  const shown = isTouched || basis.isConflict ? basis : basisOf(versioned, language)
  const origin = valuesOf(shown.versioned.body, language)

  async function save(form: FormData): Promise<Saved> {
    const { body, etag = '' } = shown.versioned
    const params = { key_id: body.id }
    const typed = typedValues(form)
    const changes = changesOf(origin, typed)
    if (Object.keys(changes).length === 0) return 'unchanged'
    try {
      const change = { params, body: { ...changes, unique_name: true }, ifMatch: etag }
      const saved = await callVersioned('PATCH /keys/:key_id', change)
      return { body: saved.body.key, etag: saved.etag }
    } catch (error) {
      if (asProblem(error).code !== 'precondition_failed') throw error
      const newest = await callVersioned('GET /keys/:key_id', { params })
      const values = mergeValues(origin, typedValues(typedNow() ?? form), valuesOf(newest.body, language))
      setBasis({ versioned: newest, values, isConflict: true })
      void readAgain('/keys')
      return 'conflict'
    }
  }

  async function show(saved: Saved, sent: FormData): Promise<void> {
    if (saved === 'conflict') return
    announce(saved === 'unchanged' ? words.nothingChanged : words.savedLimits)
    if (saved !== 'unchanged') setBasis({ ...shown, versioned: saved, isConflict: false })
    await readAgain('/keys')
    if (!isTypedSince(sent)) discard()
  }

  /** Text typed during a save stays, and is saved next. */
  function isTypedSince(sent: FormData): boolean {
    const now = typedNow()
    return now !== undefined && JSON.stringify([...now]) !== JSON.stringify([...sent])
  }

  function typedNow(): FormData | undefined {
    const form = fields.current?.closest('form')
    return form ? new FormData(form) : undefined
  }

  function discard(): void {
    setBasis((known) => ({ ...known, isConflict: false }))
    setTouched(false)
    setGeneration(generation + 1) // discards what was typed too
  }

  return (
    <Section title={words.limitsTitle} lead={words.limitsLead}>
      <div
        className="grid max-w-2xl gap-5"
        onInput={() => {
          if (!isTouched && !basis.isConflict) setBasis(shown)
          setTouched(true)
        }}
      >
        <Form
          check={(form) => checkValues(typedValues(form), words, serverNowMs(), origin)}
          send={save}
          errorsOf={(problem) => keyErrorsOf(problem, words)}
          onDone={(saved, sent) => void show(saved, sent)}
        >
          <div ref={fields} className="grid gap-5">
            <KeyFields key={`${generation} ${JSON.stringify(shown.values)}`} values={shown.values} />
          </div>
          {basis.isConflict && <Conflict newest={shown.versioned.body} onDiscard={discard} />}
          <div>
            <SubmitButton>{words.save}</SubmitButton>
          </div>
        </Form>
      </div>
    </Section>
  )
}

function basisOf(newest: Versioned<Key>, language: Language): Basis {
  return { versioned: newest, values: valuesOf(newest.body, language), isConflict: false }
}

function Conflict({ newest, onDiscard }: { readonly newest: Key; readonly onDiscard: () => void }) {
  const words = useWords(keyWords)
  const values = valuesOf(newest, useLanguage())
  const facts = [
    [words.name, values.name],
    [words.tags, values.tags],
    ...budgetNames.map(
      (budget) => [words.budgets[budget], values[budget] === '' ? '' : `${values[budget]} ₽`] as const,
    ),
    [words.rpm, values.rpm],
    [words.tpm, values.tpm],
    [words.whichModels, values.allowed_models?.join(', ') ?? words.anyModel],
    [words.allowedIps, values.allowed_ips.split('\n').join(', ')],
    [words.expiresOn, values.expires_at],
    [words.keepsHours, values.keeps_responses_hours],
  ] as const
  return (
    <Notice tone="warning">
      <div role="alert" className="grid gap-3">
        <p className="font-semibold">{words.conflictTitle}</p>
        <p>{words.conflictLead}</p>
        <dl className="grid gap-x-6 gap-y-1 text-sm sm:grid-cols-2">
          {facts.map(([name, value]) => (
            <div key={name} className="flex min-w-0 flex-wrap gap-x-1.5">
              <dt className="text-muted">{name}:</dt>
              <dd className="min-w-0 font-medium wrap-anywhere">
                <bdi>{value === '' ? words.none : value}</bdi>
              </dd>
            </div>
          ))}
        </dl>
        <Actions>
          <Button size="small" onClick={onDiscard}>
            {words.takeTheirs}
          </Button>
        </Actions>
      </div>
    </Notice>
  )
}
