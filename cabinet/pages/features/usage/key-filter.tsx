import { useEffect, useId, useState } from 'react'
import { call } from '../../api/call.ts'
import { useRead } from '../../api/queries.ts'
import { TextField } from '../../kit/fields.tsx'
import { useWords } from '../../words/language.ts'
import { usageWords } from '../../words/usage.ts'
import { findKey, keyLabels, type NamedKey } from './key-labels.ts'
import { isKeyId } from './request-filters.ts'

const suggestedMax = 20
const textMax = 253
/** After the last letter: not every one is worth a question. */
const askAfterMs = 200

/** Any key of the organization, which may have thousands: by its name, of which the server knows the rest. */
export function KeyFilter({
  keyId,
  onChange,
}: {
  readonly keyId: string | undefined
  readonly onChange: (id: string | undefined) => void
}) {
  const words = useWords(usageWords)
  const id = useId()
  const [typed, setTyped] = useState<string>()
  const [error, setError] = useState<string>()
  const [chosen, setChosen] = useState<NamedKey>()
  const keys = useKeysLike(useSettled(typed?.trim() ?? ''))
  const labels = keyLabels(keys)
  const name = useKeyName(keyId, chosen)

  function choose(key: NamedKey | undefined): void {
    setTyped(undefined)
    setError(undefined)
    setChosen(key)
    if (key?.id !== keyId) onChange(key?.id)
  }

  function type(text: string): void {
    const picked = keys.find((key) => labels.get(key.id) === text)
    if (text.trim() === '' || picked !== undefined) choose(picked)
    else {
      setTyped(text)
      setError(undefined)
    }
  }

  async function commit(): Promise<void> {
    const text = typed?.trim()
    if (text === undefined) return
    const found = await findKeysLike(text)
    const key = findKey(found, text)
    if (key !== undefined) choose(key)
    else setError(found.length === 0 ? words.noSuchKey : words.severalKeys)
  }

  return (
    <>
      <TextField
        {...{ name: 'key_id', label: words.key, error, value: typed ?? name, list: id }}
        {...{ placeholder: words.allKeys, maxLength: textMax, autoComplete: 'off', spellCheck: false }}
        onChange={({ target }) => type(target.value)}
        onBlur={() => void commit()}
        onKeyDown={({ key }) => {
          if (key === 'Enter') void commit()
        }}
      />
      <datalist id={id}>
        {keys.map((key) => (
          <option key={key.id} value={labels.get(key.id)} />
        ))}
      </datalist>
    </>
  )
}

function useKeysLike(text: string): readonly NamedKey[] {
  return (
    useRead('/keys', { query: { limit: suggestedMax, ...(text !== '' && { q: text }) } }).data?.data ?? []
  )
}

/** None too where it cannot be asked: whoever is offline is told so by the banner. */
async function findKeysLike(text: string): Promise<readonly NamedKey[]> {
  try {
    return (await call('GET /keys', { query: { limit: suggestedMax, q: text } })).data
  } catch {
    return []
  }
}

/** How the key of the address is called; a revoked one has but its id. */
function useKeyName(keyId: string | undefined, chosen: NamedKey | undefined): string {
  const words = useWords(usageWords)
  const isChosen = chosen !== undefined && chosen.id === keyId
  const isAsked = keyId !== undefined && isKeyId(keyId) && !isChosen
  const { data, isError } = useRead(
    '/keys/:key_id',
    { params: { key_id: keyId ?? '' } },
    { enabled: isAsked },
  )
  if (keyId === undefined) return ''
  if (isChosen) return chosen.name
  if (isAsked && !isError) return data?.id === keyId.toLowerCase() ? data.name : ''
  return words.otherKey(keyId.slice(0, 8))
}

/** A text once it has stopped changing. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), askAfterMs)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
