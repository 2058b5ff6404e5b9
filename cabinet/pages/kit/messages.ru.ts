import { plural } from '../i18n/plural.ts'
import { roundWait } from '../i18n/wait.ts'

const waitForms = {
  second: { one: 'секунду', few: 'секунды', many: 'секунд' },
  minute: { one: 'минуту', few: 'минуты', many: 'минут' },
  hour: { one: 'час', few: 'часа', many: 'часов' },
} as const

export const ru = {
  showPassword: 'Показать',
  hidePassword: 'Скрыть',
  copy: 'Копировать',
  copied: 'Скопировано',
  notCopied: 'Браузер запретил копирование. Выделите текст и скопируйте его вручную.',
  copyRequestId: 'Копировать номер запроса',
  copyCode: 'Копировать код',
  codeLanguage: 'Язык примера',
  requestId: 'Номер запроса:',
  filters: (setCount: number) => (setCount === 0 ? 'Фильтры' : `Фильтры: ${setCount}`),
  retry: 'Повторить',
  close: 'Закрыть',
  cancel: 'Отмена',
  more: 'Показать ещё',
  sorting: 'Сортировка',
  givenOrder: 'По умолчанию',
  ascending: (column: string) => `${column}: по возрастанию`,
  descending: (column: string) => `${column}: по убыванию`,
  loading: 'Загрузка…',
  formFailed: 'Не удалось отправить форму',
  downloadFailed: 'Не удалось скачать файл',
  readFailed: 'Не удалось загрузить данные',
  offline: 'Нет подключения к интернету',
  offlineDetail: 'Как только подключение восстановится, данные обновятся автоматически.',
  unreachable: 'Сервер не отвечает',
  unreachableDetail:
    'Скорее всего, это короткий перерыв на нашей стороне. Как только сервер ответит, данные обновятся автоматически.',
  slow: 'Сервер отвечает дольше обычного',
  slowDetail: 'Данные появятся автоматически.',
  unavailable: 'Сервис временно недоступен',
  unavailableDetail: 'Мы уже восстанавливаем работу. Страница обновится автоматически.',
  forbidden: 'У вас нет доступа к этому разделу',
  forbiddenDetail: 'Доступ может дать владелец организации.',
  notFound: 'Не найдено',
  notFoundDetail: 'Возможно, объект удалён или ссылка неверна.',
  retryAfter: (seconds: number) => {
    const { count, unit } = roundWait(seconds)
    return `Повторите через ${plural('ru', count, waitForms[unit])}.`
  },
  found: (shown: number, hidden: number) => {
    if (shown === 0) return 'Ничего не найдено'
    return hidden === 0 ? `Найдено: ${shown}` : `Показано ${shown} из ${shown + hidden}, уточните запрос`
  },
  showExactly: '— показать точно',
  exactly: (sum: string) => `Точно: ${sum}`,
}
