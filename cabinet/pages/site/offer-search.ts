import { findLanguage } from '../preferences.ts'
import { siteWords } from './messages.ts'
import { type SearchEntry, search } from './search.ts'

/**
 * Shows the search of the documentation and makes it work: results while typing, arrow keys between them, Enter for the
 * first one, Escape to close. The index is loaded when the field first receives focus.
 */
export function offerSearch(form: HTMLFormElement): void {
  const [input, list, status] = [
    form.querySelector('input'),
    form.querySelector('ul'),
    form.querySelector('[role="status"]'),
  ]
  if (!input || !list || !status) return
  const words = siteWords[findLanguage(document.documentElement.lang) ?? 'ru']
  const read = onceDone(() => readIndex(form.dataset.search ?? ''))

  async function show(): Promise<void> {
    const query = input?.value ?? ''
    const entries = await read().catch(() => undefined)
    if (query !== input?.value) return // typed in the meantime
    const found = entries === undefined ? [] : search(entries, query)
    list?.replaceChildren(...found.map(itemOf))
    if (list) list.hidden = found.length === 0
    if (status) status.textContent = entries === undefined ? words.unavailable : countOf(query, found.length)
  }

  const countOf = (query: string, count: number) => (query.trim() === '' ? '' : words.found(count))
  input.addEventListener('focus', () => void read().catch(() => undefined))
  input.addEventListener('input', () => void show())
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    list.querySelector('a')?.click()
  })
  form.addEventListener('keydown', (event) => moveByKey(event, input, list))
  form.classList.remove('invisible') // its space was reserved, so nothing moves
}

function moveByKey(event: KeyboardEvent, input: HTMLInputElement, list: HTMLElement): void {
  const places: readonly HTMLElement[] = [input, ...list.querySelectorAll('a')]
  const place = places.indexOf(document.activeElement as HTMLElement)
  const moves: Readonly<Record<string, HTMLElement | undefined>> = {
    ArrowDown: places[place + 1],
    ArrowUp: places[place - 1],
    Escape: input,
  }
  if (!(event.key in moves)) return
  event.preventDefault()
  if (event.key === 'Escape') list.hidden = true
  moves[event.key]?.focus()
}

function itemOf({ page, title, address }: SearchEntry): HTMLLIElement {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = address
  link.className = 'block rounded-md px-2 py-1.5 no-underline hover:bg-hover wrap-anywhere'
  link.textContent = page === title ? title : `${title} · ${page}`
  item.append(link)
  return item
}

async function readIndex(address: string): Promise<readonly SearchEntry[]> {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`the index of the search was not sent: ${response.status}`)
  return (await response.json()) as readonly SearchEntry[]
}

/** Repeats what failed, and keeps what succeeded. */
function onceDone<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let kept: Promise<Result> | undefined
  return () => {
    kept ??= work().catch((error: unknown) => {
      kept = undefined
      throw error
    })
    return kept
  }
}
