import { useState } from 'react'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { CopyButton } from '../../kit/copy-button.tsx'
import { Actions, Dialog } from '../../kit/dialog.tsx'
import { saveFile } from '../../kit/save-file.ts'
import { settingsWords } from './messages.ts'

/** The codes, shown once: closes only after they were copied or downloaded, or the user confirms having saved them. */
export function RecoveryCodes({
  codes,
  onClose,
}: {
  readonly codes: readonly string[]
  readonly onClose: () => void
}) {
  const words = useWords(settingsWords)
  const [isKept, setKept] = useState(false)
  const text = `${codes.join('\n')}\n`
  return (
    <Dialog title={words.codesTitle} onClose={onClose} isDismissible={false}>
      <p>{words.codesLead}</p>
      <ul className="grid grid-cols-2 gap-x-6 gap-y-1 rounded-md border border-line bg-sunken p-4 font-mono text-sm select-all max-[24rem]:grid-cols-1">
        {codes.map((code) => (
          <li key={code} className="break-all">
            {code}
          </li>
        ))}
      </ul>
      <Actions>
        <CopyButton text={text} label={words.copyCodes} onCopied={() => setKept(true)} />
        <Button
          variant="quiet"
          size="small"
          onClick={() => {
            saveFile(new File([text], fileName, { type: 'text/plain' }))
            setKept(true)
          }}
        >
          {words.downloadCodes}
        </Button>
      </Actions>
      <Actions>
        <Button variant="primary" onClick={onClose}>
          {isKept ? words.done : words.codesWritten}
        </Button>
      </Actions>
    </Dialog>
  )
}

const fileName = 'model-gateway-recovery-codes.txt'
