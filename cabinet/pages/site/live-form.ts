/** Less than the 100 ms after which users notice a wait. */
const restMs = 80

/**
 * Shows the result of a form while the user types: the part of the page that `data-live` names is read again, and
 * replaced. Without it, the form's button loads the whole page.
 */
export function keepLive(form: HTMLFormElement): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let asked = new AbortController()

  async function show(): Promise<void> {
    asked.abort()
    asked = new AbortController()
    const { signal } = asked
    const address = addressOf(form)
    const found = await fetch(address, { signal }).then(
      (response) => (response.ok ? response.text() : undefined),
      () => undefined,
    )
    if (found === undefined || signal.aborted) return
    if (addressOf(form) !== address) return show() // chosen in the meantime, in the part itself
    const id = form.dataset.live ?? ''
    const part = new DOMParser().parseFromString(found, 'text/html').getElementById(id)
    if (part === null) return
    document.getElementById(id)?.replaceWith(part)
    history.replaceState(null, '', address)
  }

  form.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void show(), restMs)
  })
}

/** The form's address, without fields that are empty, and with those of its part: the models chosen for a comparison. */
function addressOf(form: HTMLFormElement): string {
  const part = document.getElementById(form.dataset.live ?? '')
  const chosen = part instanceof HTMLFormElement ? [...new FormData(part)] : []
  const given = [...new FormData(form), ...chosen].filter(([, value]) => value !== '') as [string, string][]
  const search = new URLSearchParams(given).toString()
  return `${new URL(form.action).pathname}${search === '' ? '' : `?${search}`}`
}
