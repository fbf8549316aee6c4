// Exceptions in several threads, and a coroutine of C++ 20. With an argument, the program ends by
// an exception that it does not catch.
#include <coroutine>
#include <ctime>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>

struct Numbers {
  struct promise_type {
    int value = 0;
    Numbers get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int next) { return value = next, std::suspend_always{}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

static Numbers count() {
  for (int number = 0; number < 3; number++) co_yield number;
  throw std::out_of_range("no more numbers");
}

static volatile long caught;

__attribute__((noinline)) static void fall(int depth) {
  std::string held(40, 'x');
  if (depth == 0) throw std::runtime_error(held);
  fall(depth - 1);
}

// Throws through ten frames, for about half a second of processor time for each of two threads.
static void throw_often(std::exception_ptr *last) {
  timespec now;
  do {
    try {
      fall(10);
    } catch (const std::runtime_error &) {
      caught = caught + 1;
      *last = std::current_exception();
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (now.tv_sec == 0 && now.tv_nsec < 500000000);
}

int main(int argc, char **) {
  std::exception_ptr first, second;
  std::thread one(throw_often, &first), two(throw_often, &second);
  one.join();
  two.join();
  try {
    std::rethrow_exception(first);
  } catch (const std::exception &error) {
    std::cout << "caught " << (caught > 0) << " " << error.what() << std::endl;
  }
  Numbers numbers = count();
  try {
    for (;;) numbers.handle.resume(), std::cout << numbers.handle.promise().value << std::endl;
  } catch (const std::out_of_range &error) {
    std::cerr << error.what() << std::endl;
  }
  numbers.handle.destroy();
  if (argc == 1) return 30;
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  throw std::logic_error("not caught");
}
