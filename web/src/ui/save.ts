/** Gives the browser a file to keep. */
export function save(name: string, content: string, media: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: media }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
