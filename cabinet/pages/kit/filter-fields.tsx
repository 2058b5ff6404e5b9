import { type ReactNode, type RefObject, useEffect, useRef } from 'react'
import { kitWords } from '../words/kit.ts'
import { useWords } from '../words/language.ts'
import { isDay } from './days.ts'
import { DateField, TextField } from './fields.tsx'
import { Fold } from './fold.tsx'

/** Beside each other above a list; where it is narrow they are folded, and it is said how many of them are set. */
export function FilterBar({
  setCount,
  isWrong = false,
  children,
}: {
  readonly setCount: number
  /** What is wrong stays in sight. */
  readonly isWrong?: boolean
  readonly children: ReactNode
}) {
  const words = useWords(kitWords)
  return (
    <div className="px-5 pb-4">
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
  /** A value that makes sense, or `undefined` when the field was emptied. */
  readonly onChange: (value: string | undefined) => void
}

/** A day to filter by: half-typed years change nothing. */
export function DayFilter({ name, label, value, onChange }: FilterProps) {
  const input = useFollowing(value)
  return (
    <DateField
      {...{ name, label, ref: input, defaultValue: value }}
      onChange={({ target }) => {
        if (isDay(target.value)) onChange(target.value)
        else if (target.value === '' && !target.validity.badInput) onChange(undefined)
      }}
    />
  )
}

/** A text to filter by, once it is left or sent by Enter. `suggestions`: an id of a `<datalist>`. */
export function TextFilter({
  name,
  label,
  value,
  onChange,
  suggestions,
}: FilterProps & { readonly suggestions?: string }) {
  const input = useFollowing(value)
  const commit = (text: string) => {
    const plain = text.trim()
    if (plain !== (value ?? '')) onChange(plain === '' ? undefined : plain)
  }
  return (
    <TextField
      {...{ name, label, ref: input, defaultValue: value, autoComplete: 'off', spellCheck: false }}
      {...(suggestions !== undefined && { list: suggestions })}
      onBlur={({ target }) => commit(target.value)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === 'Enter') commit(currentTarget.value)
      }}
    />
  )
}

/** A field that says what the address says, but never takes away what somebody is typing. */
function useFollowing(value: string | undefined): RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (input.current !== null && input.current !== document.activeElement) input.current.value = value ?? ''
  }, [value])
  return input
}
