import java.lang.management.ManagementFactory;

// Uses processor time, three quarters of it in one method, and prints a line when it has done so.
// Arguments: the seconds, and `wait` to run until it is killed.
class Hot {
  static volatile double sink;

  static double hot() {
    double sum = 0;
    for (int number = 1; number < 300_000; number++) sum += Math.sqrt(number);
    return sum;
  }

  static double cool() {
    double sum = 0;
    for (int number = 1; number < 100_000; number++) sum += Math.sqrt(number);
    return sum;
  }

  public static void main(String[] words) throws InterruptedException {
    long nanoseconds = (long) (Double.parseDouble(words[0]) * 1e9);
    var thread = ManagementFactory.getThreadMXBean();
    while (thread.getCurrentThreadCpuTime() < nanoseconds) sink += hot() + cool();
    System.out.println("computed with " + System.getProperty("hot.setting"));
    System.err.println("an error");
    if (words.length > 1) Thread.sleep(600_000);
    System.exit(3);
  }
}
