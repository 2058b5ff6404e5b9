import { useWords } from '../../i18n/language.ts'
import { Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { spendingWords } from '../spending/messages.ts'
import { usageOf, type useSpending } from '../spending/spending.ts'
import { SpendingFacts, TopKeys, TopModels } from '../spending/spending-facts.tsx'

/** What 30 days have cost, and which keys and models most; nothing without requests. */
export function SpendingSection({ spending }: { readonly spending: ReturnType<typeof useSpending> }) {
  const words = useWords(spendingWords)
  if (spending.data?.requests === 0) return null
  return (
    <Section
      title={words.title}
      actions={spending.data && <TextLink href={usageOf(spending.data)}>{words.inUsage}</TextLink>}
    >
      <Loaded query={spending} skeleton={<Skeleton heightRem={18} />}>
        {(known) => (
          <div className="grid gap-6">
            <SpendingFacts spending={known} />
            <div className="grid items-start gap-x-8 gap-y-6 md:grid-cols-2">
              <TopKeys spending={known} />
              <TopModels spending={known} />
            </div>
          </div>
        )}
      </Loaded>
    </Section>
  )
}
