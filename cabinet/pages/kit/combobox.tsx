import { type KeyboardEvent, type ReactNode, type Ref, useId, useRef, useState } from 'react'
import { useWords } from '../i18n/language.ts'
import { type Choice, findChoices } from './choices.ts'
import { classNames } from './class-names.ts'
import { box, FieldFrame } from './fields.tsx'
import { useFieldIds } from './form.tsx'
import { kitWords } from './messages.ts'

type Chosen = {
  readonly choices: readonly Choice[]
  readonly value: string
  readonly onChoose: (value: string) => void
}

type Props = Chosen & { readonly name: string; readonly label: string; readonly hint?: ReactNode }

/**
 * One of many choices, found by typing a part of it: an editable combobox with a listbox, as ARIA's authoring practices
 * describe it. The list is part of the flow, so nothing clips it. Leaving the field without a choice changes nothing.
 */
export function Combobox({ name, label, hint, ...chosen }: Props) {
  const listId = useId()
  const list = useRef<HTMLDivElement>(null)
  const { id, error, attributes } = useFieldIds(name, hint)
  const search = useSearchOf(chosen)
  const { typed, found, active } = search
  const isOpen = typed !== undefined
  const shownLabel = chosen.choices.find(({ value }) => value === chosen.value)?.label ?? chosen.value

  function onKeyDown(event: KeyboardEvent): void {
    const act = event.nativeEvent.isComposing ? undefined : actionOf(event.key, isOpen)
    if (act === undefined) return
    event.preventDefault()
    if (act === 'open') search.open('')
    if (act === 'close') search.close()
    if (act === 'choose') search.choose(found.shown[active])
    if (typeof act === 'number')
      list.current?.children[search.move(act)]?.scrollIntoView({ block: 'nearest' })
  }

  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <input
        {...attributes}
        type="text"
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-autocomplete="list"
        {...(isOpen && found.shown.length > 0 && { 'aria-activedescendant': `${listId}-${active}` })}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={200}
        className={box}
        value={typed ?? shownLabel}
        {...(isOpen && { placeholder: shownLabel })}
        onClick={() => !isOpen && search.open('')}
        onChange={(event) => search.open(event.target.value)}
        onKeyDown={onKeyDown}
        onBlur={search.close}
      />
      <ChoiceList id={listId} ref={list} label={label} value={chosen.value} search={search} />
    </FieldFrame>
  )
}

type Search = ReturnType<typeof useSearchOf>

/** The typed text, the choices that it finds, and the active one. */
function useSearchOf({ choices, value, onChoose }: Chosen) {
  /** `undefined`: the list is closed. */
  const [typed, setTyped] = useState<string>()
  const [active, setActive] = useState(0)
  const found = findChoices(choices, typed ?? '', value)
  return {
    typed,
    active,
    found,
    open(text: string): void {
      const { shown } = findChoices(choices, text, value)
      const chosenAt = text === '' ? shown.findIndex((choice) => choice.value === value) : 0
      setTyped(text)
      setActive(Math.max(0, chosenAt))
    },
    close: () => setTyped(undefined),
    choose(choice: Choice | undefined): void {
      setTyped(undefined)
      if (choice !== undefined && choice.value !== value) onChoose(choice.value)
    },
    /** @returns the place that is active now. */
    move(by: number): number {
      const next = Math.max(0, Math.min(active + by, found.shown.length - 1))
      setActive(next)
      return next
    },
  }
}

function ChoiceList({
  id,
  ref,
  label,
  value,
  search: { typed, found, active, choose },
}: {
  readonly id: string
  readonly ref: Ref<HTMLDivElement>
  readonly label: string
  readonly value: string
  readonly search: Search
}) {
  const words = useWords(kitWords)
  const isOpen = typed !== undefined
  const { shown, hiddenCount } = found
  return (
    <div hidden={!isOpen} className="rounded-md border border-line bg-raised shadow-raised">
      <div
        ref={ref}
        id={id}
        role="listbox"
        aria-label={label}
        hidden={shown.length === 0}
        className="max-h-72 overflow-y-auto p-1"
        onPointerDown={(event) => event.preventDefault()} // the field keeps the focus
      >
        {isOpen &&
          shown.map((choice, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles the keys
            <div
              key={choice.value}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={choice.value === value}
              className={classNames(
                'min-h-8 cursor-pointer rounded-sm px-2 py-1 break-words',
                index === active && 'bg-accent-soft outline-1 -outline-offset-1 outline-accent',
                choice.value === value && 'font-medium text-accent',
              )}
              onClick={() => choose(choice)}
            >
              {choice.label}
            </div>
          ))}
      </div>
      <p role="status" className="px-3 pb-2 text-sm text-muted empty:hidden">
        {isOpen && words.found(shown.length, hiddenCount)}
      </p>
    </div>
  )
}

type Action = 'open' | 'close' | 'choose' | number

/** What a key does; a number: how far it moves in the list. Pure. */
function actionOf(key: string, isOpen: boolean): Action | undefined {
  if (!isOpen) return key === 'ArrowDown' || key === 'ArrowUp' || key === 'Enter' ? 'open' : undefined
  if (key === 'Escape') return 'close'
  if (key === 'Enter') return 'choose'
  return moves[key]
}

const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }
