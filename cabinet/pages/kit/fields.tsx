import type { InputHTMLAttributes, ReactNode, Ref, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react'
import { useState } from 'react'
import { useWords } from '../i18n/language.ts'
import { classNames } from './class-names.ts'
import { useFieldIds } from './form.tsx'
import { Icon } from './icon.tsx'
import { kitWords } from './messages.ts'

type Labelled = {
  /** In the form's values, and in the server's errors. */
  readonly name: string
  readonly label: string
  readonly hint?: ReactNode
}

/** How the box of a field looks. */
export const box =
  'block w-full min-h-10 rounded-md border border-edge bg-surface px-3 py-2 text-base text-ink shadow-raised aria-invalid:border-danger aria-invalid:bg-danger-soft'

/** Label above, hint and error below. */
export function FieldFrame({
  id,
  label,
  hint,
  error,
  children,
}: Omit<Labelled, 'name'> & {
  readonly id: string
  readonly error: string | undefined
  readonly children: ReactNode
}) {
  return (
    <div className="grid min-w-0 gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-muted">
          {hint}
        </p>
      )}
      <FieldError id={id} error={error} />
    </div>
  )
}

/** The error of the field with this id. */
export function FieldError({ id, error }: { readonly id: string; readonly error: string | undefined }) {
  if (error === undefined) return null
  return (
    <p id={`${id}-error`} className="flex gap-1.5 text-sm text-danger">
      <Icon name="warning" size={16} />
      <span className="min-w-0">{error}</span>
    </p>
  )
}

type InputProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'className' | 'id' | 'name'> & {
  readonly ref?: Ref<HTMLInputElement>
}

/** A day of the calendar. */
export function DateField({ name, label, hint, ...input }: Labelled & Omit<InputProps, 'type'>) {
  const { id, error, attributes } = useFieldIds(name, hint)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <input {...input} {...attributes} type="date" className={box} />
    </FieldFrame>
  )
}

/** `error`: for fields outside a form. */
export function TextField({
  name,
  label,
  hint,
  error: ownError,
  ...input
}: Labelled & InputProps & { readonly error?: string | undefined }) {
  const { id, error, attributes } = useFieldIds(name, hint, ownError)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <input type="text" {...input} {...attributes} className={box} />
    </FieldFrame>
  )
}

export function TextArea({
  name,
  label,
  hint,
  ...input
}: Labelled & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'className' | 'id' | 'name'>) {
  const { id, error, attributes } = useFieldIds(name, hint)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <textarea rows={4} {...input} {...attributes} className={box} />
    </FieldFrame>
  )
}

/** A password that the user can reveal. */
export function PasswordField({
  name,
  label,
  hint,
  autoComplete,
}: Labelled & { readonly autoComplete: 'current-password' | 'new-password' }) {
  const { id, error, attributes } = useFieldIds(name, hint)
  const [isShown, setShown] = useState(false)
  const words = useWords(kitWords)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <div className="relative">
        <input
          {...attributes}
          type={isShown ? 'text' : 'password'}
          autoComplete={autoComplete}
          autoCapitalize="none"
          spellCheck={false}
          className={classNames(box, 'pe-28')}
        />
        <button
          type="button"
          aria-controls={id}
          className="absolute inset-y-1 end-1 rounded-sm px-3 text-sm font-medium text-muted hover:bg-hover hover:text-ink"
          onClick={() => setShown(!isShown)}
        >
          {isShown ? words.hidePassword : words.showPassword}
          <span className="sr-only">{label.toLowerCase()}</span>
        </button>
      </div>
    </FieldFrame>
  )
}

/** A sum of rubles as users type it; `findTypedRubles` reads it. */
export function AmountField(props: Labelled & Omit<InputProps, 'type' | 'inputMode'>) {
  const { name, label, hint, ...input } = props
  const { id, error, attributes } = useFieldIds(name, hint)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <div className="relative">
        <input
          {...input}
          {...attributes}
          type="text"
          inputMode="decimal"
          autoComplete="off"
          className={classNames(box, 'pe-9')}
        />
        <span
          aria-hidden="true"
          className="pointer-events-none absolute inset-y-0 end-3 flex items-center text-muted before:content-['₽']"
        />
      </div>
    </FieldFrame>
  )
}

/** A native select; `children` are its options. */
export function SelectField({
  name,
  label,
  hint,
  children,
  ...select
}: Labelled & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'className' | 'id' | 'name'>) {
  const { id, error, attributes } = useFieldIds(name, hint)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <select {...select} {...attributes} className={box}>
        {children}
      </select>
    </FieldFrame>
  )
}

/** Never preselected for a consent. `children`: what the user agrees to, with its link. */
export function CheckboxField({
  name,
  children,
  hint,
  ...input
}: { readonly name: string; readonly children: ReactNode; readonly hint?: ReactNode } & Omit<
  InputHTMLAttributes<HTMLInputElement>,
  'className' | 'id' | 'name' | 'type' | 'children'
>) {
  const { id, error, attributes } = useFieldIds(name, hint)
  return (
    <div className="grid gap-1.5">
      <div className="flex items-start gap-3">
        <input {...input} {...attributes} type="checkbox" className="size-6 shrink-0 accent-accent" />
        <label htmlFor={id} className="min-w-0 text-base">
          {children}
        </label>
      </div>
      {hint !== undefined && (
        <p id={`${id}-hint`} className="ps-9 text-sm text-muted">
          {hint}
        </p>
      )}
      <div className="ps-9 empty:hidden">
        <FieldError id={id} error={error} />
      </div>
    </div>
  )
}
