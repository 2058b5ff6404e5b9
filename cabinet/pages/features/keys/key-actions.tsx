import { useState } from 'react'
import { call } from '../../api/call.ts'
import { readAgain } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { announce } from '../../kit/toasts.tsx'
import type { Key } from './key.ts'
import { keyWords } from './messages.ts'
import type { MadeKey } from './new-key-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'

/** Blocks and unblocks any key; issues a new secret for keys created in the cabinet. */
export function KeyActions({
  shown,
  onRotated,
}: {
  readonly shown: Key
  readonly onRotated: (made: MadeKey) => void
}) {
  const words = useWords(keyWords)
  const [isRotating, setRotating] = useState(false)
  return (
    <>
      {shown.managed_by === 'cabinet' && <Button onClick={() => setRotating(true)}>{words.rotate}</Button>}
      <BlockButton shown={shown} />
      {isRotating && (
        <RotateDialog
          shown={shown}
          onClose={() => setRotating(false)}
          onRotated={(made) => {
            setRotating(false)
            onRotated(made)
          }}
        />
      )}
    </>
  )
}

function BlockButton({ shown: { id, blocked_by } }: { readonly shown: Key }) {
  const words = useWords(keyWords)
  const isBlocked = blocked_by.includes('owner')
  const change = useChange(async () => {
    const name = isBlocked ? 'POST /keys/:key_id/unblock' : 'POST /keys/:key_id/block'
    await call(name, { params: { key_id: id } })
    announce(isBlocked ? words.unblocked : words.blocked)
    await readAgain('/keys')
  })
  return (
    <>
      <Button
        variant={isBlocked ? 'primary' : 'secondary'}
        isPending={change.isPending}
        onClick={change.start}
      >
        {isBlocked ? words.unblock : words.block}
      </Button>
      {change.problem && <ProblemNote problem={change.problem} fallback={words.actionFailed} />}
    </>
  )
}
