import { useRead } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { CodeBlock } from '../../kit/code-block.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { billingWords } from './messages.ts'

/** The command that sets a namespace's label, ready to run. */
export function KubernetesSection() {
  const words = useWords(billingWords)
  const organization = useRead('/organization')
  return (
    <Section title={words.kubernetes} lead={words.kubernetesLead}>
      <Loaded query={organization} skeleton={<Skeleton heightRem={13} />}>
        {({ id, name, kubectl_label_command }) => (
          <div className="grid gap-4">
            <dl className="grid gap-2">
              <Named label={words.name} value={name} copy={words.copyName} />
              <Named label={words.id} value={id} copy={words.copyId} />
            </dl>
            <CodeBlock label={words.command} code={kubectl_label_command} />
            <p className="text-sm text-muted">{words.commandHint}</p>
          </div>
        )}
      </Loaded>
    </Section>
  )
}

function Named({
  label,
  value,
  copy,
}: {
  readonly label: string
  readonly value: string
  readonly copy: string
}) {
  return (
    <div>
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="flex items-center justify-between gap-2">
        <code className="min-w-0 font-mono text-sm break-all">{value}</code>
        <CopyButton text={value} label={copy} isCompact />
      </dd>
    </div>
  )
}
