import { useState } from 'react'
import type { Answer } from '../../api/calls.ts'
import { useRead } from '../../api/queries.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { useIsConfirmed } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { billingWords } from './messages.ts'
import { TopUpForm } from './top-up-form.tsx'
import { WaitingForProvider } from './waiting-for-provider.tsx'

/** From an amount to the provider's page. */
export function TopUpSection() {
  const words = useWords(billingWords)
  const config = useRead('/config')
  const isConfirmed = useIsConfirmed()
  const [waitsFor, setWaitsFor] = useState<Answer<'POST /payments'>>()
  return (
    <Section title={words.topUp}>
      <div id="top-up" className="scroll-mt-20">
        <Loaded query={config} skeleton={<Skeleton heightRem={15} />}>
          {({ top_up, documents }) => {
            if (!isConfirmed) return <ConfirmFirst />
            if (top_up === null) return <p className="text-muted">{words.noPayments}</p>
            if (waitsFor !== undefined)
              return <WaitingForProvider payment={waitsFor} onEnd={() => setWaitsFor(undefined)} />
            return <TopUpForm bounds={top_up} documents={documents} onUnready={setWaitsFor} />
          }}
        </Loaded>
      </div>
    </Section>
  )
}
