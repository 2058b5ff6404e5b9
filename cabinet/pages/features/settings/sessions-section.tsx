import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { announce } from '../../kit/toasts.tsx'
import { nameOfAgent } from './agent.ts'
import { settingsWords } from './messages.ts'

type Session = Answer<'GET /me/sessions'>['data'][number]

/** The user's sessions; any but the present one can be ended here. */
export function SessionsSection() {
  const words = useWords(settingsWords)
  const sessions = useRead('/me/sessions')
  return (
    <Section title={words.sessions} lead={words.sessionsLead}>
      <Loaded query={sessions} skeleton={<SkeletonRows count={2} />}>
        {({ data }) => (
          <ul className="grid">
            {data.map((session) => (
              <SessionRow key={session.id} session={session} />
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  )
}

function SessionRow({ session }: { readonly session: Session }) {
  const words = useWords(settingsWords)
  const end = useChange(async () => {
    try {
      await call('DELETE /me/sessions/:session_id', { params: { session_id: session.id } })
      announce(words.sessionEnded)
    } finally {
      await readAgain('/me/sessions') // an already ended session counts as success
    }
  })
  const name = nameOfAgent(session.agent) ?? words.unknownDevice
  return (
    <li className="grid gap-3 border-b border-line py-3 last:border-b-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            <span title={session.agent}>{name}</span>
            {session.is_current && <Badge tone="success">{words.thisSession}</Badge>}
          </p>
          <p className="text-sm text-muted">
            <span className="break-all">{session.address}</span> · {words.lastSeen}{' '}
            <DateTime at={session.seen_at} />
          </p>
        </div>
        {!session.is_current && (
          <Button
            size="small"
            isPending={end.isPending}
            aria-label={words.endSessionOf(name)}
            onClick={end.start}
          >
            {words.endSession}
          </Button>
        )}
      </div>
      {end.problem !== undefined && end.problem.status !== 404 && (
        <ProblemNote problem={end.problem} fallback={words.sessionNotEnded} />
      )}
    </li>
  )
}
