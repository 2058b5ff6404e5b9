import { escapeHtml } from '#core/process/html'
import { draftAlertInEnglish, draftAlertInRussian } from './alert-letters.ts'
import { draftEmailChangeInEnglish, draftEmailChangeInRussian } from './email-change-letters.ts'
import { draftInvitationInEnglish, draftInvitationInRussian } from './invitation-letter.ts'
import type { LetterContent, Locale } from './letter-content.ts'
import { draftPaymentInEnglish, draftPaymentInRussian } from './payment-letters.ts'
import { draftTotpResetInEnglish, draftTotpResetInRussian } from './totp-reset-letter.ts'
import { momentOf } from './written-values.ts'

/** An email as sent, with the same content in plain text and in HTML. */
export type LetterText = { readonly subject: string; readonly text: string; readonly html: string }

/** An email in paragraphs. A link is a paragraph by itself. */
type Draft = {
  readonly subject: string
  readonly paragraphs: readonly (string | { readonly link: string })[]
}

/** Writes an email in the recipient's language. Pure. */
export function writeLetter(content: LetterContent, locale: Locale): LetterText {
  const { subject, paragraphs } = locale === 'ru' ? draftInRussian(content) : draftInEnglish(content)
  const all = [...paragraphs, endings[locale]]
  return {
    subject,
    text: `${all.map((part) => (typeof part === 'string' ? part : part.link)).join('\n\n')}\n`,
    html: [
      `<!doctype html><html lang="${locale}"><head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>`,
      '<body style="font: 16px/1.5 sans-serif; max-width: 40em">',
      ...all.map((part) => `<p>${typeof part === 'string' ? escapeHtml(part) : anchor(part.link)}</p>`),
      '</body></html>\n',
    ].join('\n'),
  }
}

const endings = {
  ru: 'Это автоматическое письмо от Model Gateway. Отвечать на него не нужно.',
  en: 'Model Gateway sent this email automatically. Please do not reply.',
} as const

const ifNotYouInRussian =
  'Если это были не вы, сразу смените пароль: на странице входа нажмите «Забыли пароль?».'
const ifNotYouInEnglish =
  'If this was not you, change your password now: click "Forgot password?" on the sign-in page.'

function draftInRussian(content: LetterContent): Draft {
  switch (content.kind) {
    case 'verify_email':
      return {
        subject: 'Подтвердите адрес электронной почты',
        paragraphs: [
          'Этот адрес указали при регистрации в Model Gateway. Чтобы подтвердить его, откройте ссылку:',
          { link: content.vars.link },
          'Ссылка действует ограниченное время. Если вы не регистрировались, ничего не делайте.',
        ],
      }
    case 'already_registered':
      return {
        subject: 'Вы уже зарегистрированы',
        paragraphs: [
          'С этим адресом попытались зарегистрироваться в Model Gateway, но у вас уже есть учётная запись. Чтобы войти, откройте ссылку:',
          { link: content.vars.loginLink },
          'Если вы забыли пароль, задайте новый по ссылке:',
          { link: content.vars.resetLink },
          'Если это были не вы, ничего не делайте: в учётной записи ничего не изменилось.',
        ],
      }
    case 'reset_password':
      return {
        subject: 'Новый пароль',
        paragraphs: [
          'Для вашей учётной записи в Model Gateway запросили новый пароль. Чтобы задать его, откройте ссылку:',
          { link: content.vars.link },
          'С новым паролем завершатся все сеансы и удалятся ключи доступа.',
          'Ссылка действует один раз и ограниченное время. Если вы её не запрашивали, ничего не делайте: пароль не изменится.',
        ],
      }
    case 'password_changed':
      return {
        subject: 'Пароль изменён',
        paragraphs: [
          `Пароль вашей учётной записи в Model Gateway изменён ${momentOf(content.vars.at, 'ru')} по московскому времени. IP-адрес: ${content.vars.address}.`,
          ifNotYouInRussian,
        ],
      }
    case 'low_balance':
    case 'budget_reached':
    case 'spend_spike':
    case 'notification_test':
      return draftAlertInRussian(content)
    case 'payment_credited':
    case 'payment_refunded':
    case 'payment_canceled':
    case 'auto_top_up_stopped':
      return draftPaymentInRussian(content)
    case 'invitation':
      return draftInvitationInRussian(content.vars)
    case 'totp_reset_planned':
      return draftTotpResetInRussian(content.vars)
    case 'email_change':
    case 'email_change_approval':
    case 'email_changed':
      return draftEmailChangeInRussian(content)
    case 'totp_enabled':
    case 'totp_disabled':
    case 'passkey_added':
    case 'passkey_removed':
      return draftFactorInRussian(content)
  }
}

/** Changes of what a user signs in with. */
type FactorContent = Extract<
  LetterContent,
  { readonly kind: 'totp_enabled' | 'totp_disabled' | 'passkey_added' | 'passkey_removed' }
>

function draftFactorInRussian(content: FactorContent): Draft {
  switch (content.kind) {
    case 'totp_enabled':
      return {
        subject: 'Вход по одноразовому коду включён',
        paragraphs: [
          'Теперь для входа в Model Gateway, кроме пароля, нужен одноразовый код. Сохраните резервные коды в надёжном месте.',
          ifNotYouInRussian,
        ],
      }
    case 'totp_disabled':
      return {
        subject: 'Вход по одноразовому коду отключён',
        paragraphs: ['Теперь для входа в Model Gateway достаточно одного пароля.', ifNotYouInRussian],
      }
    case 'passkey_added':
      return {
        subject: 'Добавлен ключ доступа',
        paragraphs: [
          `Ключом доступа «${content.vars.name}» теперь можно войти в Model Gateway без пароля и кода.`,
          ifNotYouInRussian,
        ],
      }
    case 'passkey_removed':
      return {
        subject: 'Ключ доступа удалён',
        paragraphs: [
          `Ключом доступа «${content.vars.name}» больше нельзя войти в Model Gateway.`,
          ifNotYouInRussian,
        ],
      }
  }
}

function draftInEnglish(content: LetterContent): Draft {
  switch (content.kind) {
    case 'verify_email':
      return {
        subject: 'Confirm your email address',
        paragraphs: [
          'This address was used to register with Model Gateway. To confirm it, open this link:',
          { link: content.vars.link },
          'The link expires after a limited time. If you did not register, you can ignore this email.',
        ],
      }
    case 'already_registered':
      return {
        subject: 'You already have an account',
        paragraphs: [
          'This address was used to register with Model Gateway, but you already have an account. To sign in, open this link:',
          { link: content.vars.loginLink },
          'If you forgot your password, set a new one:',
          { link: content.vars.resetLink },
          'If this was not you, you can ignore this email. Your account has not changed.',
        ],
      }
    case 'reset_password':
      return {
        subject: 'Set a new password',
        paragraphs: [
          'A new password was requested for your Model Gateway account. To set it, open this link:',
          { link: content.vars.link },
          'A new password ends all sessions and removes all passkeys.',
          'The link works once and expires after a limited time. If you did not request it, you can ignore this email. Your password will not change.',
        ],
      }
    case 'password_changed':
      return {
        subject: 'Your password was changed',
        paragraphs: [
          `The password of your Model Gateway account was changed on ${momentOf(content.vars.at, 'en')} Moscow time from the IP address ${content.vars.address}.`,
          ifNotYouInEnglish,
        ],
      }
    case 'low_balance':
    case 'budget_reached':
    case 'spend_spike':
    case 'notification_test':
      return draftAlertInEnglish(content)
    case 'payment_credited':
    case 'payment_refunded':
    case 'payment_canceled':
    case 'auto_top_up_stopped':
      return draftPaymentInEnglish(content)
    case 'invitation':
      return draftInvitationInEnglish(content.vars)
    case 'totp_reset_planned':
      return draftTotpResetInEnglish(content.vars)
    case 'email_change':
    case 'email_change_approval':
    case 'email_changed':
      return draftEmailChangeInEnglish(content)
    case 'totp_enabled':
    case 'totp_disabled':
    case 'passkey_added':
    case 'passkey_removed':
      return draftFactorInEnglish(content)
  }
}

function draftFactorInEnglish(content: FactorContent): Draft {
  switch (content.kind) {
    case 'totp_enabled':
      return {
        subject: 'One-time codes are now required',
        paragraphs: [
          'To sign in to Model Gateway, you now need a one-time code in addition to your password. Keep your recovery codes in a safe place.',
          ifNotYouInEnglish,
        ],
      }
    case 'totp_disabled':
      return {
        subject: 'One-time codes are no longer required',
        paragraphs: ['To sign in to Model Gateway, you now need only your password.', ifNotYouInEnglish],
      }
    case 'passkey_added':
      return {
        subject: 'A passkey was added',
        paragraphs: [
          `The passkey “${content.vars.name}” now signs you in to Model Gateway without a password and a code.`,
          ifNotYouInEnglish,
        ],
      }
    case 'passkey_removed':
      return {
        subject: 'A passkey was removed',
        paragraphs: [
          `The passkey “${content.vars.name}” no longer signs you in to Model Gateway.`,
          ifNotYouInEnglish,
        ],
      }
  }
}

function anchor(link: string): string {
  return `<a href="${escapeHtml(link)}">${escapeHtml(link)}</a>`
}
