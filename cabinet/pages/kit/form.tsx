import { createContext, type ReactNode, useContext, useEffect, useId, useRef, useState } from 'react'
import { newIdempotencyKey } from '../api/call.ts'
import { type ApiProblem, asProblem } from '../api/problem.ts'
import { goToLogin } from '../app/sign-in-again.ts'
import { kitWords } from '../words/kit.ts'
import { useLanguage, useWords } from '../words/language.ts'
import { Button, type ButtonVariant } from './button.tsx'
import { Actions } from './dialog.tsx'
import { ProblemNote } from './problem-note.tsx'

/** By the name of a field, what is wrong with it. */
export type FieldErrors = Readonly<Record<string, string | undefined>>

type FormState = { readonly errors: FieldErrors; readonly isPending: boolean }

const FormContext = createContext<FormState>({ errors: {}, isPending: false })

/** Errors of fields that are sent with no form, such as filters. */
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
  /** What is wrong before anything is sent, by field; nothing: it is sent. */
  readonly check?: (values: FormData) => FieldErrors
  /** `idempotencyKey` is the same for every try of the same content. */
  readonly send: (values: FormData, idempotencyKey: string) => Promise<Sent>
  readonly onDone?: (sent: Sent, values: FormData) => void
  /** Turns a problem into errors of fields, where its own `errors` do not say it. */
  readonly errorsOf?: (problem: ApiProblem) => FieldErrors | undefined
  readonly children: ReactNode
}

/**
 * A form that is sent once at a time, keeps what was typed, and puts the focus on the first field that is wrong. Fields are
 * uncontrolled and found by their `name`; a server's `errors[].path` names them too.
 */
export function Form<Sent>({ check, send, onDone, errorsOf, children }: FormProps<Sent>) {
  const form = useRef<HTMLFormElement>(null)
  const isSending = useRef(false) // at once, where a state is set a moment later
  const attempt = useRef({ content: '', key: '' })
  const [isPending, setPending] = useState(false)
  const [errors, setErrors] = useState<FieldErrors>({})
  const [problem, setProblem] = useState<ApiProblem>()
  const words = useWords(kitWords)
  const language = useLanguage()

  // biome-ignore lint/correctness/useExhaustiveDependencies: another language alone says the same in other words
  useEffect(() => {
    if (form.current === null) return
    const found = check?.(new FormData(form.current)) ?? {}
    setErrors((shown) => saidAnew(shown, found))
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

  function showProblem(told: ApiProblem): void {
    if (told.code === 'unauthenticated') goToLogin()
    const fields =
      errorsOf?.(told) ?? Object.fromEntries(told.errors.map(({ path, message }) => [path, message]))
    const isBesideFields = showErrors(fields)
    if (!isBesideFields) setProblem(told)
  }

  /** @returns whether there is a field to show one at. */
  function showErrors(found: FieldErrors): boolean {
    setErrors(found)
    const wrong = [...(form.current?.elements ?? [])].find(
      (element) => 'name' in element && found[String(element.name)] !== undefined,
    )
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

/** What is shown, as it is found now: what only the server could say is not said in a language that nobody reads. Pure. */
function saidAnew(shown: FieldErrors, found: FieldErrors): FieldErrors {
  return Object.fromEntries(Object.keys(shown).map((name) => [name, found[name]]))
}

/** Sends the form around it; while that is at work, no second time. */
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

/** How a form that was opened ends: it is sent, or closed as if it had not been. */
export function FormEnd({
  variant,
  send,
  onCancel,
}: {
  readonly variant?: ButtonVariant
  /** What the button says that sends it. */
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

/** Ids that tie a field to its hint and its error. */
export function useFieldIds(name: string, hint: ReactNode, ownError?: string) {
  const id = useId()
  const error = useFormState().errors[name] ?? ownError
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return {
    ...{ id, error },
    attributes: {
      ...{ id, name },
      ...(error !== undefined && { 'aria-invalid': true }),
      ...(described.length > 0 && { 'aria-describedby': described.join(' ') }),
    },
  }
}
