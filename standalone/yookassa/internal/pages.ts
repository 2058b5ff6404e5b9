import { escapeHtml } from '#core/process/html'
import type { Payment } from './payment.ts'

const words: Readonly<Record<Payment['status'], string>> = {
  pending: 'ожидает оплаты',
  waiting_for_capture: 'оплачен, ждёт подтверждения магазина',
  succeeded: 'оплачен',
  canceled: 'отменён',
}

/** The page where the payer pays and the shop refunds. */
export function paymentPage(payment: Payment, left: string, notice: string | undefined): string {
  const { amount, description = '', status, returnUrl, cancellation } = payment
  return pageOf('Оплата', [
    ...(notice === undefined ? [] : [`<p role="alert"><strong>${escapeHtml(notice)}</strong></p>`]),
    `<h1>${escapeHtml(rubles(amount))}</h1>`,
    `<p>${escapeHtml(description)}</p>`,
    `<p>Платёж ${words[status]}${cancellation === undefined ? '' : ` (${escapeHtml(cancellation.reason)})`}.</p>`,
    ...(payment.savesMethod ? ['<p>Магазин сохранит карту для автоплатежей.</p>'] : []),
    ...(status === 'pending' ? [payForm] : []),
    ...(left === '0.00' ? [] : [refundForm(left)]),
    ...(returnUrl === undefined ? [] : [`<p><a href="${escapeHtml(returnUrl)}">Вернуться в магазин</a></p>`]),
    '<p><a href="/">Все платежи</a></p>',
  ])
}

/** The last payments, newest first. */
export function paymentsPage(
  payments: readonly { readonly payment: Payment; readonly url: string }[],
): string {
  const items = payments.map(
    ({ payment: { amount, description = '', status, createdAtMs }, url }) =>
      `<li><a href="${escapeHtml(url)}">${rubles(amount)}</a> ${words[status]} ${escapeHtml(description)} <time>${new Date(createdAtMs).toISOString()}</time></li>`,
  )
  return pageOf('Платежи', [
    '<h1>Платежи</h1>',
    items.length === 0 ? '<p>Пока нет.</p>' : `<ul>${items.join('\n')}</ul>`,
  ])
}

export function notFoundPage(): string {
  return pageOf('Не найдено', ['<h1>Такого платежа нет</h1>', '<p><a href="/">Все платежи</a></p>'])
}

const payForm = `<form method="post">
<p><button name="action" value="pay">Оплатить</button></p>
<p><button name="action" value="pay_lost">Оплатить, но потерять уведомление</button></p>
<p><button name="action" value="decline">Отменить</button></p>
</form>`

function refundForm(left: string): string {
  return `<form method="post">
<p><label>Сумма возврата, ₽ <input name="amount" value="${left}" inputmode="decimal" required></label>
<button name="action" value="refund">Вернуть</button></p>
</form>`
}

function pageOf(title: string, lines: readonly string[]): string {
  return [
    `<!doctype html><html lang="ru"><head><meta charset="utf-8"><title>${title}</title>`,
    '<meta name="viewport" content="width=device-width"></head>',
    '<body style="font: 16px/1.5 sans-serif; max-width: 40em; margin: 2em auto; padding: 0 1em">',
    '<p>Учебная касса: деньги не списываются.</p>',
    ...lines,
    '</body></html>\n',
  ].join('\n')
}

function rubles(amount: string): string {
  return `${amount.replace('.', ',')} ₽`
}
