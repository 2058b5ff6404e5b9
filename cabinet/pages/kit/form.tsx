import { createContext, type ReactNode, useContext, useEffect, useId, useRef, useState } from 'react'
import { newIdempotencyKey } from '../api/call.ts'
import { type ApiProblem, asProblem } from '../api/problem.ts'
import { useLanguage, useWords } from '../i18n/language.ts'
import { goToLogin } from '../navigation/sign-in-again.ts'
import { Button, type ButtonVariant } from './button.tsx'
import { Actions } from './dialog.tsx'
import { kitWords } from './messages.ts'
import { ProblemNote } from './problem-note.tsx'

/** Errors by field name. */
export type FieldErrors = Readonly<Record<string, string | undefined>>

type FormState = { readonly errors: FieldErrors; readonly isPending: boolean }

const FormContext = createContext<FormState>({ errors: {}, isPending: false })

/** Errors of fields outside a form, such as filters. */
export function WithErrors({
  errors,
  children,
}: {
  readonly errors: FieldErrors
  readonly children: ReactNode
}) {
  return <FormContext value={{ errors, isPending: false }}>{children}</FormContext>
}

function useFormState(): FormState {
  return useContext(FormContext)
}

type FormProps<Sent> = {
  /** Errors by field before sending; if empty, the form is sent. */
  readonly check?: (values: FormData) => FieldErrors
  /** `idempotencyKey` is the same for every retry of the same content. */
  readonly send: (values: FormData, idempotencyKey: string) => Promise<Sent>
  readonly onDone?: (sent: Sent, values: FormData) => void
  /** Maps a problem to errors of fields, if its `errors` do not. */
  readonly errorsOf?: (problem: ApiProblem) => FieldErrors | undefined
  readonly children: ReactNode
}

/**
 * A form that is sent once at a time, keeps what was typed, and focuses the first field with an error. Fields are
 * uncontrolled and found by their `name`; a server's `errors[].path` uses the same names.
 */
export function Form<Sent>({ check, send, onDone, errorsOf, children }: FormProps<Sent>) {
  const form = useRef<HTMLFormElement>(null)
  const isSending = useRef(false) // immediately, while a state is set a moment later
  const attempt = useRef({ content: '', key: '' })
  const [isPending, setPending] = useState(false)
  const [errors, setErrors] = useState<FieldErrors>({})
  const [problem, setProblem] = useState<ApiProblem>()
  const words = useWords(kitWords)
  const language = useLanguage()

  // biome-ignore lint/correctness/useExhaustiveDependencies: only another language changes the texts
  useEffect(() => {
    if (form.current === null) return
    const found = check?.(new FormData(form.current)) ?? {}
    setErrors((shown) => recheck(shown, found))
  }, [language])

  async function submit(): Promise<void> {
    if (isSending.current || form.current === null) return
    const values = new FormData(form.current)
    setProblem(undefined)
    if (showErrors(check?.(values) ?? {})) return
    isSending.current = true
    setPending(true)
    try {
      const sent = await send(values, keyOf(values))
      attempt.current = { content: '', key: '' }
      onDone?.(sent, values)
    } catch (error) {
      showProblem(asProblem(error))
    } finally {
      isSending.current = false
      setPending(false)
    }
  }

  function keyOf(values: FormData): string {
    const content = JSON.stringify([...values])
    if (attempt.current.content !== content) attempt.current = { content, key: newIdempotencyKey() }
    return attempt.current.key
  }

  function showProblem(failure: ApiProblem): void {
    if (failure.code === 'unauthenticated') goToLogin()
    const fields =
      errorsOf?.(failure) ?? Object.fromEntries(failure.errors.map(({ path, message }) => [path, message]))
    const isBesideFields = showErrors(fields)
    if (!isBesideFields) setProblem(failure)
  }

  /** @returns whether a field exists that can show an error. */
  function showErrors(found: FieldErrors): boolean {
    setErrors(found)
    const wrong = findWrong(form.current, found)
    if (wrong instanceof HTMLElement) wrong.focus()
    return wrong !== undefined
  }

  return (
    <form
      ref={form}
      noValidate
      aria-busy={isPending}
      className="grid gap-5"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <FormContext value={{ errors, isPending }}>
        {children}
        {problem && <ProblemNote problem={problem} fallback={words.formFailed} />}
      </FormContext>
    </form>
  )
}

/** The first field with an error. */
function findWrong(form: HTMLFormElement | null, found: FieldErrors): Element | undefined {
  return [...(form?.elements ?? [])].find(
    (element) => 'name' in element && found[String(element.name)] !== undefined,
  )
}

/** The errors as the present check finds them; the server's own errors are dropped after a change of language. Pure. */
function recheck(shown: FieldErrors, found: FieldErrors): FieldErrors {
  return Object.fromEntries(Object.keys(shown).map((name) => [name, found[name]]))
}

/** Submits its form; while that is in progress, not again. */
export function SubmitButton({
  variant = 'primary',
  children,
}: {
  readonly variant?: ButtonVariant
  readonly children: ReactNode
}) {
  const { isPending } = useFormState()
  return (
    <Button type="submit" variant={variant} isPending={isPending}>
      {children}
    </Button>
  )
}

/** The buttons of a form that was opened: submit or cancel. */
export function FormEnd({
  variant,
  send,
  onCancel,
}: {
  readonly variant?: ButtonVariant
  /** The label of the submit button. */
  readonly send: ReactNode
  readonly onCancel: () => void
}) {
  const { cancel } = useWords(kitWords)
  return (
    <Actions>
      <SubmitButton {...(variant && { variant })}>{send}</SubmitButton>
      <Button variant="quiet" onClick={onCancel}>
        {cancel}
      </Button>
    </Actions>
  )
}

/** Ids that connect a field with its hint and its error. */
export function useFieldIds(name: string, hint: ReactNode, ownError?: string) {
  const id = useId()
  const error = useFormState().errors[name] ?? ownError
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return {
    id,
    error,
    attributes: {
      id,
      name,
      ...(error !== undefined && { 'aria-invalid': true }),
      ...(described.length > 0 && { 'aria-describedby': described.join(' ') }),
    },
  }
}
