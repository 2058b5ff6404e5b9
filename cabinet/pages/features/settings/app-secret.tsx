import { useWords } from '../../i18n/language.ts'
import { CopyButton } from '../../kit/copy-button.tsx'
import { settingsWords } from './messages.ts'
import { QrCode } from './qr-code.tsx'

/** The secret of a second factor, for an authenticator app: as a QR code, and as text. */
export function AppSecret({ secret, uri }: { readonly secret: string; readonly uri: string }) {
  const words = useWords(settingsWords)
  return (
    <div className="grid justify-items-center gap-3">
      <QrCode text={uri} label={words.qrLabel} />
      <p className="text-sm text-muted">{words.orType}</p>
      <p className="flex flex-wrap items-center justify-center gap-x-2">
        <code className="font-mono text-sm break-all">{secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
        <CopyButton isCompact text={secret} label={words.copySecret} />
      </p>
    </div>
  )
}
