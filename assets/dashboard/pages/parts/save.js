// Saves text that the page has as a file.

/**
 * @param {string} name
 * @param {string} text
 * @param {string} [type]
 */
export function saveText(name, text, type = 'text/plain') {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}

/** Saves rows as CSV. A leading sign is quoted: a spreadsheet would read the cell as a formula. @param {string} name @param {string[][]} rows */
export function saveCsv(name, rows) {
  const cell = (/** @type {string} */ text) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  saveText(name, rows.map((row) => row.map(cell).join(',')).join('\r\n'), 'text/csv');
}
