import { call } from '../../api/call.ts'
import { useChange } from '../../api/use-change.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { saveFile } from '../../kit/save-file.ts'
import { Section } from '../../kit/section.tsx'
import { settingsWords } from './messages.ts'

/** Everything that is stored about the user, as a file. */
export function DataSection() {
  const words = useWords(settingsWords)
  const download = useChange(async () => {
    const account = await call('GET /me/export')
    const name = `model-gateway-account-${account.exported_at.slice(0, 10)}.json`
    saveFile(new File([JSON.stringify(account, undefined, 2)], name, { type: 'application/json' }))
  })
  return (
    <Section title={words.data} lead={words.dataLead}>
      <div className="grid justify-items-start gap-3">
        <Button icon="download" isPending={download.isPending} onClick={download.start}>
          {words.exportData}
        </Button>
        {download.problem && <ProblemNote problem={download.problem} fallback={words.exportFailed} />}
      </div>
    </Section>
  )
}
