// Exits with 0 and does nothing else: what starting a process costs without glibc's start-up.
void _start(void) {
#if defined(__x86_64__)
  __asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall");
#elif defined(__aarch64__)
  __asm__ volatile("mov x8, #93; mov x0, #0; svc #0");
#else
#error "no exit system call for this machine"
#endif
}
