import { useEffect, useId, useState } from 'react'
import { call } from '../../api/call.ts'
import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { findKey, keyLabels, type NamedKey } from './key-labels.ts'
import { usageWords } from './messages.ts'
import { isKeyId } from './request-filters.ts'

const suggestedMax = 20
const textMax = 253
/** Waits for the last keystroke: not every one is worth a call. */
const askAfterMs = 200

/** A filter by any key of the organization, which may have thousands; the server finds them by name. */
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
        name="key_id"
        label={words.key}
        error={error}
        value={typed ?? name}
        list={id}
        placeholder={words.allKeys}
        maxLength={textMax}
        autoComplete="off"
        spellCheck={false}
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

/** Also empty if the call fails: the banner informs offline users. */
async function findKeysLike(text: string): Promise<readonly NamedKey[]> {
  try {
    return (await call('GET /keys', { query: { limit: suggestedMax, q: text } })).data
  } catch {
    return []
  }
}

/** The label of the address's key, which may be revoked. */
function useKeyName(keyId: string | undefined, chosen: NamedKey | undefined): string {
  const words = useWords(usageWords)
  const isChosen = chosen !== undefined && chosen.id === keyId
  const isAsked = keyId !== undefined && isKeyId(keyId) && !isChosen
  const input = { params: { key_id: keyId ?? '' } }
  const present = useRead('/keys/:key_id', input, { enabled: isAsked })
  const revoked = useRead('/revoked-keys/:key_id', input, { enabled: isAsked && present.isError })
  if (keyId === undefined) return ''
  if (isChosen) return chosen.name
  const { data, isError } = present.isError ? revoked : present
  if (isAsked && !isError) return data?.id === keyId.toLowerCase() ? data.name : ''
  return words.otherKey(keyId.slice(0, 8))
}

/** A text that has stopped changing. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), askAfterMs)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
