import { type ReactNode, type RefObject, useEffect, useRef } from 'react'
import { useWords } from '../i18n/language.ts'
import { isDay } from '../time/days.ts'
import { DateField, TextField } from './fields.tsx'
import { Fold } from './fold.tsx'
import { kitWords } from './messages.ts'

/** A row of filters above a list; on narrow screens they are folded, and the button shows how many are set. */
export function FilterBar({
  setCount,
  isWrong = false,
  children,
}: {
  readonly setCount: number
  /** Errors stay visible. */
  readonly isWrong?: boolean
  readonly children: ReactNode
}) {
  const words = useWords(kitWords)
  return (
    <div className="not-on-paper px-5 pb-4">
      <Fold label={words.filters(setCount)} isNeeded={isWrong}>
        <div className="grid items-start gap-x-4 gap-y-3 sm:grid-cols-2 lg:grid-cols-5">{children}</div>
      </Fold>
    </div>
  )
}

type FilterProps = {
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  /** A valid value, or `undefined` after the field was cleared. */
  readonly onChange: (value: string | undefined) => void
}

/** A filter by day; a half-typed year changes nothing. */
export function DayFilter({ name, label, value, onChange }: FilterProps) {
  const input = useFollowing(value)
  return (
    <DateField
      name={name}
      label={label}
      ref={input}
      defaultValue={value}
      onChange={({ target }) => {
        if (isDay(target.value)) onChange(target.value)
        else if (target.value === '' && !target.validity.badInput) onChange(undefined)
      }}
    />
  )
}

/** A filter by text, applied on blur or Enter. `suggestions`: the id of a `<datalist>`. */
export function TextFilter({
  name,
  label,
  value,
  hint,
  onChange,
  suggestions,
}: FilterProps & { readonly suggestions?: string; readonly hint?: string }) {
  const input = useFollowing(value)
  const commit = (text: string) => {
    const plain = text.trim()
    if (plain !== (value ?? '')) onChange(plain === '' ? undefined : plain)
  }
  return (
    <TextField
      name={name}
      label={label}
      {...(hint !== undefined && { hint })}
      ref={input}
      defaultValue={value}
      autoComplete="off"
      spellCheck={false}
      {...(suggestions !== undefined && { list: suggestions })}
      onBlur={({ target }) => commit(target.value)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === 'Enter') commit(currentTarget.value)
      }}
    />
  )
}

/** A field that follows the address, but never overwrites what the user is typing. */
function useFollowing(value: string | undefined): RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (input.current !== null && input.current !== document.activeElement) input.current.value = value ?? ''
  }, [value])
  return input
}
